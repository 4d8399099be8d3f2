package result

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// TestBaselineSumsUp compares with what order statistics and two independent standard
// errors say: the second and the eighth of nine hold the median with 96 %.
func TestBaselineSumsUp(t *testing.T) {
	se := 0.03
	c := Comparison{Configurations: 9, Rounds: 100, Target: tuners.TargetPersonalized}
	for i, x := range []float64{0.9, 0.52, 0.97, 0.96, 0.99, 0.95, 0.98, 0.91, 0.3} {
		score := 1 - x/2
		if i == 1 {
			score = 0.1 // the one that validation would choose, though not the best one
		}
		c.Add(BaselineTrial{Number: 8 - i, Score: record.Real(score), TestError: x, StdErr: &se, Seconds: float64(i)})
	}
	own := 0.04
	r := &Result{Errors: Errors{Evaluation: &fl.Evaluation{
		GlobalTest:       fl.Summary{Score: fl.Score{Error: 0.9}, Clients: 280, StdErr: &own},
		PersonalizedTest: fl.Summary{Score: fl.Score{Error: 0.31}, Clients: 280, StdErr: &own},
	}}}
	b := c.Result(r)
	if b.Best != 7 || b.BestTest != 0.52 || b.MedianTest != 0.95 || *b.MedianInterval != [2]float64{0.52, 0.98} ||
		b.Seconds != 8 || b.Spent() != 900 {
		t.Errorf("%+v, interval %v", b, b.MedianInterval)
	}
	if math.Abs(*b.Gain-0.21) > 1e-12 || math.Abs(*b.GainHalf-1.6503*0.05) > 1e-4 { // t of 279 degrees of freedom
		t.Errorf("a gain of %v +- %v", *b.Gain, *b.GainHalf)
	}
	if m, i := median([]float64{4, 1, 3, 2}); m != 2.5 || i != nil {
		t.Errorf("of four numbers: %v, %v", m, i)
	}
	if m, i := median([]float64{5, 4, 1, 3, 2}); m != 3 || *i != [2]float64{1, 5} {
		t.Errorf("of five numbers: %v, %v", m, i)
	}
}
