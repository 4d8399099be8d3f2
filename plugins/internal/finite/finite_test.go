package finite_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/plugins/internal/finite"
)

func TestIs(t *testing.T) {
	for x, want := range map[float64]bool{0: true, -math.MaxFloat64: true, math.SmallestNonzeroFloat64: true, math.Inf(1): false, math.Inf(-1): false} {
		if finite.Is(x) != want {
			t.Errorf("Is(%v) is %v", x, !want)
		}
	}
	if finite.Is(math.NaN()) {
		t.Error("NaN is finite")
	}
}
