package tuners_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestDrawsArePinned fixes the sequence: studies that are resumed depend on it.
func TestDrawsArePinned(t *testing.T) {
	d := tuners.NewDraws(1, 2, 3, "pin")
	got := [3]uint64{d.Uint64(), d.Uint64(), d.Uint64()}
	want := [3]uint64{0x77028408a661d40d, 0xe2632450c6522b42, 0x49936008165345ec}
	if got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

func TestDrawsKeys(t *testing.T) {
	seen := map[uint64]string{}
	for _, k := range []struct {
		seed         uint64
		trial, round int
		purpose      string
	}{
		{0, 0, 0, ""},
		{1, 0, 0, ""},
		{0, 1, 0, ""},
		{0, 0, 1, ""},
		{0, 0, 0, "a"},
		{0, tuners.StudySession, 0, ""},
		{0, 0, 0, "b"},
	} {
		u := tuners.NewDraws(k.seed, k.trial, k.round, k.purpose).Uint64()
		if other, ok := seen[u]; ok {
			t.Errorf("%v draws like %s", k, other)
		}
		seen[u] = k.purpose
		if v := tuners.NewDraws(k.seed, k.trial, k.round, k.purpose).Uint64(); v != u {
			t.Errorf("%v does not repeat", k)
		}
	}
}

func TestDrawsAreFair(t *testing.T) {
	const n = 60000
	d := tuners.NewDraws(5, 0, 0, "fair")
	weights := []float64{1, 0, 2, 3}
	var ints [6]int
	var picks [4]int
	sum := 0.0
	for range n {
		ints[d.IntN(6)]++
		picks[d.Pick(weights)]++
		sum += d.Float64()
	}
	for i, c := range ints {
		if math.Abs(float64(c)-n/6) > 5*math.Sqrt(n/6) {
			t.Errorf("IntN(6) gave %d %d times of %d", i, c, n)
		}
	}
	for i, c := range picks {
		want := n * weights[i] / 6
		if math.Abs(float64(c)-want) > 5*math.Sqrt(want) {
			t.Errorf("Pick gave %d %d times, want about %v", i, c, want)
		}
	}
	if math.Abs(sum/n-0.5) > 0.01 {
		t.Errorf("the mean of Float64 is %v", sum/n)
	}
	seen := make([]bool, 20)
	for _, i := range d.Perm(20) {
		seen[i] = true
	}
	for i, ok := range seen {
		if !ok {
			t.Errorf("Perm(20) lacks %d", i)
		}
	}
}
