package repro

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
)

// TestBrokeAt finds where a run breaks down for good.
func TestBrokeAt(t *testing.T) {
	for name, c := range map[string]struct {
		accuracies []float64
		want       float64
	}{
		"never":     {[]float64{0.1, 0.5, 0.8, 0.7, 0.5}, math.NaN()},
		"for good":  {[]float64{0.1, 0.8, 0.3, 0.1, 0.1}, 15},
		"recovers":  {[]float64{0.1, 0.8, 0.3, 0.5, 0.8}, math.NaN()},
		"twice":     {[]float64{0.8, 0.3, 0.5, 0.2, 0.1}, 20},
		"from half": {[]float64{0.8, 0.4, 0.4}, math.NaN()},
	} {
		m := &Metrics{}
		for i, a := range c.accuracies {
			m.End.Curve = append(m.End.Curve, result.CurvePoint{Round: 5 * (i + 1), TestError: 1 - a})
		}
		if got := brokeAt(m); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
