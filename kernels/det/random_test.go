package det_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fedfast/fedfast/kernels/det"
)

// TestMix holds the first outputs of SplitMix64 from seed 0, which every
// implementation of it gives.
func TestMix(t *testing.T) {
	const step = 0x9e3779b97f4a7c15
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := det.Mix(uint64(i) * (step & math.MaxUint64)); got != want {
			t.Errorf("output %d is %#x, want %#x", i, got, want)
		}
	}
}

func TestUnit(t *testing.T) {
	if lo, hi := det.Unit(0), det.Unit(math.MaxUint64); lo != 0 || hi != 1-0x1p-53 {
		t.Errorf("Unit gives [%v, %v], want [0, 1 - 2^-53]", lo, hi)
	}
}

// TestBelow sees a bias: over a range of 3/4 of all numbers, a third of it would
// come twice as often if nothing were refused.
func TestBelow(t *testing.T) {
	for _, n := range []uint64{1, 3, 1 << 40, 3 << 61, math.MaxUint64} {
		r := rand.New(rand.NewPCG(n, 1))
		low, all := 0, 0
		for range 20000 {
			v, ok := det.Below(r.Uint64(), n)
			if !ok {
				continue
			}
			if v >= n {
				t.Fatalf("Below(%d) gave %d", n, v)
			}
			all++
			if v < (n+1)/2 {
				low++
			}
		}
		share := float64((n+1)/2) / float64(n)
		if math.Abs(float64(low)-share*float64(all)) > 5*math.Sqrt(float64(all))/2 {
			t.Errorf("Below(%d): %d of %d are in the lower half", n, low, all)
		}
	}
	if _, ok := det.Below(0, 3); ok {
		t.Error("Below(0, 3) took bits that make 0 likelier than 1 and 2: 2^64 is not a multiple of 3")
	}
}

func TestPolar(t *testing.T) {
	if _, _, ok := det.Polar(0.5, 0.5); ok {
		t.Error("Polar took the centre, which has no logarithm")
	}
	if _, _, ok := det.Polar(0, 0.1); ok {
		t.Error("Polar took a point outside of the circle")
	}
	x, y, ok := det.Polar(0.75, 0.5) // the point (1/2, 0): sqrt(-2 ln(1/4) / (1/4)) / 2
	if want := math.Sqrt(-2 * math.Log(0.25)); !ok || math.Abs(x-want) > 1e-15 || y != 0 {
		t.Errorf("Polar(0.75, 0.5) = %v, %v, %v, want %v, 0", x, y, ok, want)
	}
}
