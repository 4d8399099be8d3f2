package nanos_test

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/nanos"
)

func TestNanos(t *testing.T) {
	for seconds, want := range map[float64]int64{
		0: 0, 1.5: 1_500_000_000, 0.5e-9: 0, 1.5e-9: 2, 2.5e-9: 2,
		9.3e9: math.MaxInt64, math.Inf(1): math.MaxInt64,
	} {
		if got := nanos.Of(seconds); got != want {
			t.Errorf("Of(%v) = %d, want %d", seconds, got, want)
		}
	}
	for _, c := range [][3]int64{
		{1, 2, 3},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MaxInt64 - 2, 2, math.MaxInt64},
		{5, math.MaxInt64, math.MaxInt64},
	} {
		if got := nanos.Add(c[0], c[1]); got != c[2] {
			t.Errorf("Add(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
	if got := nanos.Seconds(1_250_000_000); got != 1.25 {
		t.Errorf("Seconds = %v", got)
	}
}
