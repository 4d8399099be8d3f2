package result

import (
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// Reference is what the study file's own values of [client] and [server] come to without a tuner,
// trained as long as the longest trial.
type Reference struct {
	// Number is the number of its trial.
	Number int `json:"number"`
	// Model is its model after its last round, nil where the trial failed.
	Model *Chosen `json:"model,omitempty"`
	// Trial is the trial of the values, whose rounds are not of the budget and which is not among
	// Result.Trials; nil where one of these has them.
	Trial *TrialResult `json:"trial,omitempty"`
	// Target is whose test errors Test and Gain are of.
	Target string `json:"target,omitempty"`
	// Test is its test error under Target, and Gain by how much that of the returned model is
	// lower; nil where that was not measured. GainHalf is half the width of the 90 % interval of Gain
	// over clients, each paired with itself; nil where errors have no Summary.StdErr.
	Test     *float64 `json:"test_error,omitempty"`
	Gain     *float64 `json:"gain,omitempty"`
	GainHalf *float64 `json:"gain_half,omitempty"`
}

// Compare fills in the comparison of the model of the file's own values with the returned one of r,
// both with the errors of their clients.
func (ref *Reference) Compare(m *Chosen, r *Result, target string) {
	ref.Model, ref.Target = m, target
	was, now := summaryOf(&m.Errors, target), summaryOf(&r.Errors, target)
	if was.Clients == 0 || now.Clients == 0 {
		return
	}
	ref.Test, ref.Gain = new(was.Error), new(was.Error-now.Error)
	if was.StdErr != nil && now.StdErr != nil {
		ref.GainHalf = pairedHalf(m.Evaluation.Clients, r.Evaluation.Clients, target, *ref.Gain)
	}
}

// summaryOf is the test summary of a model under a target, the zero one where nothing was measured.
func summaryOf(e *Errors, target string) fl.Summary {
	switch {
	case e.Evaluation == nil:
		return fl.Summary{}
	case target == tuners.TargetPersonalized:
		return e.Evaluation.PersonalizedTest
	}
	return e.Evaluation.GlobalTest
}

// pairedHalf is half the width of the interval of a gain over clients with their numbers of samples
// as weights, as Summary.StdErr has them; nil for fewer than two clients that both models have.
func pairedHalf(was, now []fl.ClientError, target string, gain float64) *float64 {
	of := func(c fl.ClientError) float64 {
		if target == tuners.TargetPersonalized {
			return c.Personalized
		}
		return c.Global
	}
	if len(was) != len(now) {
		return nil
	}
	n, samples, squares := 0, 0, 0.0
	for i := range was {
		d := of(was[i]) - of(now[i]) - gain
		if math.IsNaN(d) {
			continue
		}
		n, samples = n+1, samples+was[i].Samples
		x := float64(was[i].Samples) * d
		squares += float64(x * x)
	}
	if n < 2 {
		return nil
	}
	return new(stats.Student(float64(n-1)) * math.Sqrt(squares*float64(n)/float64(n-1)) / float64(samples))
}
