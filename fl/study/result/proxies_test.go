package result

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

func TestBestProxies(t *testing.T) {
	side := func(samples int, hi float64, scores ...float64) ProxyTrial {
		s := ProxyTrial{Environment: tuners.Environment{Samples: samples, HI: hi}}
		if len(scores) > 0 {
			s.Score = &scores[0]
		}
		return s
	}
	sides := []ProxyTrial{
		side(100, 0.8), side(50, 0.2, 0.4), side(100, 0.2, 0.6), side(50, 0.2, 0.3), side(50, 0.2, 0.3), side(50, 0.2),
	}
	got := BestProxies(sides, tuners.Objective{})
	if !slices.Equal(got.Samples, []int{50, 100}) || !slices.Equal(got.HIs, []float64{0.2, 0.8}) {
		t.Errorf("rows %v, columns %v", got.Samples, got.HIs)
	}
	want := [][]*ProxyTrial{{&sides[3], nil}, {&sides[2], nil}}
	if !slices.EqualFunc(got.Cells, want, slices.Equal) {
		t.Errorf("cells %v, want %v", got.Cells, want)
	}
	if none := BestProxies(nil, tuners.Objective{}); len(none.Cells) != 0 {
		t.Errorf("of no trials: %+v", none)
	}
}

// TestBestProxiesOfMixedOnes has the table of the best trial, not the best of each cell.
func TestBestProxiesOfMixedOnes(t *testing.T) {
	side := func(score float64, rates ...float64) ProxyTrial {
		s := ProxyTrial{Environment: tuners.Environment{Clients: 2, Cohort: 2}, Rounds: 3}
		for i, x := range rates {
			s.Table = append(s.Table, tuners.Cell{
				Keys:   map[string]float64{tuners.KeyHI: 0.4, tuners.KeySamples: float64(10 * (2 - i))},
				Params: tuners.Params{"client.lr": tuners.Num(x)},
			})
		}
		if score > 0 {
			s.Score = &score
		}
		return s
	}
	got := BestProxies([]ProxyTrial{side(0, 1, 2), side(0.5, 3, 4), side(0.3, 5, 6), side(0.3, 7, 8), side(0.4, 9, 10)},
		tuners.Objective{})
	if !slices.Equal(got.Samples, []int{10, 20}) || !slices.Equal(got.HIs, []float64{0.4}) {
		t.Fatalf("rows %v, columns %v", got.Samples, got.HIs)
	}
	for row, rate := range []float64{6, 5} {
		if c := got.Cells[row][0]; c == nil || *c.Score != 0.3 || c.Params.Float("client.lr", 0) != rate || c.Rounds != 3 {
			t.Errorf("row %d: %+v, want a rate of %v", row, c, rate)
		}
	}
	if none := BestProxies([]ProxyTrial{side(0, 1, 2)}, tuners.Objective{}); len(none.Cells) != 0 {
		t.Errorf("without a score: %+v", none)
	}
}
