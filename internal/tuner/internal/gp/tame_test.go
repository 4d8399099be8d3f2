package gp_test

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/gp"
)

func TestTame(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ y, want []float64 }{
		{[]float64{3, 1, 2}, []float64{3, 1, 2}},
		{[]float64{1, 2, 1e200, nan, 1.5}, []float64{1, 2, 6, 6, 1.5}}, // the median is 2
		{[]float64{1, 1, 1, 9, nan}, []float64{1, 1, 1, 9, 9}},         // the median is the best
		{[]float64{nan, 4}, []float64{4, 4}},
		{[]float64{-1e308, 1e308, 1e308}, []float64{-1e308, 1e308, 1e308}},
	} {
		y := slices.Clone(c.y)
		if !gp.Tame(y) || !slices.Equal(y, c.want) {
			t.Errorf("%v became %v, want %v", c.y, y, c.want)
		}
	}
	if gp.Tame([]float64{nan, nan}) {
		t.Error("no number is not enough")
	}
}
