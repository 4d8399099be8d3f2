package view

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/stats"
)

// TestMeanText writes a mean and half the width of its interval to equally many decimals.
func TestMeanText(t *testing.T) {
	for _, c := range []struct {
		percent    bool
		mean, half float64
		want       string
	}{
		{false, 6.214, 3.7, "6.2 ± 3.7"},
		{false, 0.78123, 0.01311, "0.781 ± 0.013"},
		{false, 0.78123, 0.0999, "0.781 ± 0.100"},
		{false, 1234.5, 120, "1234 ± 120"},
		{false, 21, 1, "21.0 ± 1.0"},
		{false, 0.78123, 0, "0.7812"},
		{false, 0.78123, math.NaN(), "0.7812"},
		{true, 0.17818, 0.0131, "17.82 ± 1.31 %"},
	} {
		if got := MeanText(result.Scale{Percent: c.percent}, stats.Sample{Mean: c.mean, Half: c.half}); got != c.want {
			t.Errorf("%g ± %g: %q, want %q", c.mean, c.half, got, c.want)
		}
	}
	if got := Difference(-6.2141, new(3.71), false); got != "6.2 ± 3.7 lower" {
		t.Error(got)
	}
}
