package det_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/kernels/det"
)

func TestFinite(t *testing.T) {
	for x, want := range map[float64]bool{
		0: true, -math.MaxFloat64: true, math.SmallestNonzeroFloat64: true,
		math.Inf(1): false, math.Inf(-1): false,
	} {
		if det.Finite(x) != want {
			t.Errorf("Finite(%v) is %v", x, !want)
		}
	}
	if det.Finite(math.NaN()) {
		t.Error("NaN is finite")
	}
}
