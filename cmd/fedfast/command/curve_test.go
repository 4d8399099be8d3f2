package command

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
)

// TestPrintCurveTellsWhatBroke: a training that lost what it had learnt says so, one
// that has learnt nothing or whose errors are no shares does not.
func TestPrintCurveTellsWhatBroke(t *testing.T) {
	const broke = "from round 3 on: the test accuracy stays below half of its best, 80.0 % after round 2"
	for _, c := range []struct {
		errors  []float64
		measure string
		want    bool
	}{
		{[]float64{0.5, 0.2, 0.9, 0.9}, "", true},
		{[]float64{0.5, 0.2, 0.9, 0.9}, result.MeasureRMSE, false},
		{[]float64{0.97, 0.94, 0.98, 0.98}, "", false},
		{[]float64{0.5, 0.2, 0.9, 0.5}, "", false},
	} {
		var curve []result.CurvePoint
		for i, e := range c.errors {
			curve = append(curve, result.CurvePoint{Round: i + 1, TestError: e})
		}
		got := (view.Ending{Curve: curve, Measure: c.measure}).Notes()
		if want := [][2]string{{"diverged", broke}}; c.want != slices.Equal(got, want) || !c.want && len(got) > 0 {
			t.Errorf("%v %s: %q", c.errors, c.measure, got)
		}
	}
}
