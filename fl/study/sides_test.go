package study

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

func TestBestSides(t *testing.T) {
	side := func(samples int, hi float64, scores ...float64) SideTrial {
		s := SideTrial{Environment: tuners.Environment{Samples: samples, HI: hi}}
		if len(scores) > 0 {
			s.Score = &scores[0]
		}
		return s
	}
	sides := []SideTrial{
		side(100, 0.8), side(50, 0.2, 0.4), side(100, 0.2, 0.6), side(50, 0.2, 0.3), side(50, 0.2, 0.3), side(50, 0.2),
	}
	got := BestSides(sides)
	if !slices.Equal(got.Samples, []int{50, 100}) || !slices.Equal(got.HIs, []float64{0.2, 0.8}) {
		t.Errorf("rows %v, columns %v", got.Samples, got.HIs)
	}
	want := [][]*SideTrial{{&sides[3], nil}, {&sides[2], nil}}
	if !slices.EqualFunc(got.Cells, want, slices.Equal) {
		t.Errorf("cells %v, want %v", got.Cells, want)
	}
	if none := BestSides(nil); len(none.Cells) != 0 {
		t.Errorf("of no trials: %+v", none)
	}
}
