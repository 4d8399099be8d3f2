package result

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// TestPerfectWithoutTraining: where guessing is perfect, the verdict returns why, whatever the
// model's own error is.
func TestPerfectWithoutTraining(t *testing.T) {
	for _, c := range []struct {
		answer, measure string
		want            []string
	}{
		{"class", "", []string{
			"global model: always guessing the most frequent class is perfect without any training (0.00 % error), so the error says nothing about the model: all test labels are the same",
			"personalized models: always guessing each client's most frequent class is perfect without any training (0.00 % error), so the error says nothing about the model: the test labels of each client are all the same",
		}},
		{"tags", MeasureRecall, []string{
			"global model: always guessing the most frequent tags is perfect without any training (0.00 % error), so the error says nothing about the model: no test sample has other tags",
			"personalized models: always guessing each client's most frequent tags is perfect without any training (0.00 % error), so the error says nothing about the model: no client's test samples have other tags",
		}},
		{"mean", MeasureRMSE, []string{
			"global model: always predicting the mean is perfect without any training (RMSE 0), so the error says nothing about the model: all test targets are the same",
		}},
	} {
		for _, own := range []float64{0, 0.25} {
			e := Errors{Measure: c.measure, Trivial: &Trivial{Answer: c.answer}}
			if e.GlobalTest = &own; c.answer != "mean" {
				e.PersonalizedTest, e.Trivial.Personalized = &own, new(float64)
			}
			if got := e.Verdict(); !slices.Equal(got, c.want) {
				t.Errorf("%s, error %v: it says\n%q, want\n%q", c.answer, own, got, c.want)
			}
		}
	}
	c := &config.Config{Objective: tuners.MetricError}
	_, known := beats(c, &Trivial{}, 0)
	if better, judged := beats(c, &Trivial{Global: 0.5}, 0.5); known || better || !judged {
		t.Error("a trial is not counted as one that did not learn where nothing can be better")
	}
}

func TestTrend(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		losses []float64
		want   bool
	}{
		{[]float64{4, 3, 2}, false},
		{[]float64{4, 0.001, 0.2}, false}, // up, but below where it began
		{[]float64{4, 3, 425}, true},
		{[]float64{4, 3, 12}, false},
		{[]float64{nan, 4, 3}, false},
		{[]float64{4, 3, nan}, true},
		{[]float64{1e6, 1e6}, true},
	} {
		if got := trendOf(c.losses).diverged(&Errors{}); got != c.want {
			t.Errorf("%v: diverged %v", c.losses, got)
		}
	}
}
