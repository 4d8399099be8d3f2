package sobol

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
)

// TestFirstPoints compares with the first points of the published sequence, which goes
// through them in the order of Gray codes.
func TestFirstPoints(t *testing.T) {
	want := [][]float64{ // dimensions 1 to 5, by the numbers' Gray codes
		{0, 0, 0, 0, 0},
		{.5, .5, .5, .5, .5},
		{.75, .25, .25, .25, .75},
		{.25, .75, .75, .75, .25},
		{.375, .375, .625, .875, .375},
		{.875, .875, .125, .375, .875},
		{.625, .125, .875, .625, .625},
		{.125, .625, .375, .125, .125},
	}
	for i, row := range want {
		for dim, x := range row {
			if got := float64(point(uint32(i^i>>1), dim)) / (1 << 32); got != x {
				t.Errorf("point %d, dimension %d: %v, want %v", i, dim+1, got, x)
			}
		}
	}
}

// TestEveryPartHasOnePoint: in each dimension, each of 2^k equal parts has one of the first 2^k
// points, in each pair of the first two dimensions each box of that area; also when scrambled.
func TestEveryPartHasOnePoint(t *testing.T) {
	const n = 64
	for key := range uint64(3) {
		for dim := range MostDims {
			seen := map[int]bool{}
			for i := range uint32(n) {
				x := Unit(key, i, dim)
				if !(x >= 0 && x < 1) {
					t.Fatal(x)
				}
				seen[int(math.Floor(x*n))] = true
			}
			if len(seen) != n {
				t.Errorf("key %d, dimension %d: %d of %d parts have a point", key, dim, len(seen), n)
			}
		}
		boxes := map[[2]int]bool{}
		for i := range uint32(n) {
			boxes[[2]int{int(8 * Unit(key, i, 0)), int(8 * Unit(key, i, 1))}] = true
		}
		if len(boxes) != n {
			t.Errorf("key %d: %d of %d boxes have a point", key, len(boxes), n)
		}
	}
	if Unit(1, 5, 3) == Unit(2, 5, 3) || Unit(1, 5, 3) != Unit(1, 5, 3) {
		t.Error("keys do not decide")
	}
}

func TestPlaysAllPoints(t *testing.T) {
	play := func(seed uint64) *conformance.Outcome {
		out, err := conformance.Study{
			Surface: conformance.Bowl(), Budget: tuners.Budget{Rounds: 32, TrialRounds: 4},
			Seed: seed, Reopen: true,
		}.Play(t.Context(), host.Local(Tuner))
		if err != nil || len(out.Trials) != 8 {
			t.Fatalf("%+v, %v", out, err)
		}
		return out
	}
	a, b := play(1), play(2)
	for i := range a.Trials {
		if !a.Trials[i].Params.Equal(b.Trials[i].Params) {
			t.Errorf("trial %d has other params with another seed", i)
		}
	}
}
