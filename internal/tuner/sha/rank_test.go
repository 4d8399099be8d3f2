package sha_test

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/sha"
	"github.com/fedfast/fedfast/tuners"
)

func TestRankAndKeep(t *testing.T) {
	scores := []float64{3, math.NaN(), 1, 2, 1, math.NaN(), 3}
	for _, c := range []struct {
		direction tuners.Direction
		rank      []int
		n         int
		keep      []int
	}{
		{tuners.Minimize, []int{2, 4, 3, 0, 6}, 3, []int{2, 3, 4}},
		{tuners.Maximize, []int{0, 6, 3, 2, 4}, 4, []int{0, 2, 3, 6}},
		{tuners.Minimize, []int{2, 4, 3, 0, 6}, 7, []int{0, 2, 3, 4, 6}},
		{tuners.Minimize, []int{2, 4, 3, 0, 6}, 0, []int{}},
	} {
		o := tuners.Objective{Direction: c.direction}
		if got := sha.Rank(o, scores); !slices.Equal(got, c.rank) {
			t.Errorf("%s: ranked %v, want %v", c.direction, got, c.rank)
		}
		if got := sha.Keep(o, scores, c.n); !slices.Equal(got, c.keep) {
			t.Errorf("%s: the best %d are %v, want %v", c.direction, c.n, got, c.keep)
		}
	}
}
