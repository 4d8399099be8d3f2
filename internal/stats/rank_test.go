package stats

import (
	"math"
	"testing"
)

// TestSpearman compares with the ranks of pandas 2.2 and their Pearson correlation.
func TestSpearman(t *testing.T) {
	for _, tt := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{10, 100, 1000}, 1},
		{[]float64{3, 1, 4, 1, 5}, []float64{9, 2, 6, 5, 3}, 0.20519567041703082},
		{[]float64{1, 1}, []float64{1, 2}, math.NaN()},
		{nil, nil, math.NaN()},
	} {
		if got := Spearman(tt.x, tt.y); math.Abs(got-tt.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(tt.want) {
			t.Errorf("%v and %v: %v, want %v", tt.x, tt.y, got, tt.want)
		}
	}
}
