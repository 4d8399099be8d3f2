package result

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestStandingIsNotTheLuckiestRound: a trial that dips once is not the best one, nor is
// one of a few lucky rounds before its first rung.
func TestStandingIsNotTheLuckiestRound(t *testing.T) {
	of := func(trial int, rung bool, scores ...float64) Standing {
		var r Recent
		for _, x := range scores {
			r.Add(x, 10)
		}
		return r.Standing(trial, len(scores), rung)
	}
	aim := tuners.ObjectiveOf(tuners.MetricError, tuners.TargetGlobal)
	steady, dipped := of(1, false, 0.7, 0.5, 0.5, 0.6, 0.4, 0.5), of(0, false, 0.9, 0.9, 0.1, 0.9, 0.9, 0.9)
	if math.Abs(steady.Score-0.5) > 1e-12 || steady.Rounds != 5 || steady.Clients != 10 || steady.Round != 6 ||
		steady.Basis() != "mean of 5 rounds, 10 clients each" {
		t.Errorf("%+v", steady)
	}
	if !steady.Before(dipped, aim) || dipped.Before(steady, aim) {
		t.Errorf("%+v is not before %+v", steady, dipped)
	}
	if short := of(2, false, 0.05, 0.05); short.Before(steady, aim) || !of(2, true, 0.05, 0.05).Before(steady, aim) {
		t.Errorf("%+v is before %+v", short, steady)
	}
	if none := of(3, false); none.Before(dipped, aim) || !dipped.Before(none, aim) {
		t.Errorf("%+v", none)
	}
	if high := tuners.ObjectiveOf(tuners.MetricAccuracy, tuners.TargetGlobal); !dipped.Before(steady, high) {
		t.Error("higher accuracies are not better")
	}
}
