package result

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// Reference is what the configured values of [client] and [server] come to without a tuner,
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

// Compare fills in the comparison of the model of the configured values with the returned one of r,
// both with the errors of their clients.
func (ref *Reference) Compare(m *Chosen, r *Result, target string) {
	ref.Model, ref.Target = m, target
	was, now := summaryOf(&m.Errors, target), summaryOf(&r.Errors, target)
	if was.Clients == 0 || now.Clients == 0 {
		return
	}
	ref.Test, ref.Gain = new(was.Error), new(was.Error-now.Error)
	if was.StdErr != nil && now.StdErr != nil {
		ref.GainHalf = gainHalf(m.Evaluation.Clients, r.Evaluation.Clients, target, *ref.Gain)
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

// gainHalf is half the width of the interval of a gain over clients; nil where the models have other clients.
func gainHalf(was, now []fl.ClientError, target string, gain float64) *float64 {
	if len(was) != len(now) {
		return nil
	}
	differences := make([]float64, len(was))
	for i := range was {
		differences[i] = was[i].Global - now[i].Global
		if target == tuners.TargetPersonalized {
			differences[i] = was[i].Personalized - now[i].Personalized
		}
	}
	return pairedHalf(differences, func(i int) float64 { return float64(was[i].Samples) }, gain)
}
