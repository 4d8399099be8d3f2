package result

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// BaselineResult is what random search reaches beside a study, under the study's
// target: its errors are personalized ones where the objective is and they were
// measured, else the global model's.
type BaselineResult struct {
	// Rounds is the length of each training.
	Rounds int `json:"rounds"`
	// Target is the target of the errors.
	Target string `json:"target"`
	// Trials are the configurations in the order in which they were drawn.
	Trials []BaselineTrial `json:"trials"`
	// Best is the number of the configuration with the best validation score, which
	// random search would return.
	Best int `json:"best"`
	// BestTest is its test error, MedianTest the median of those of all.
	BestTest   float64 `json:"best_test_error"`
	MedianTest float64 `json:"median_test_error"`
	// BestScore and MedianScore are the same of the objective where it is taken of probabilities, on test samples.
	BestScore   *float64 `json:"best_test_score,omitempty"`
	MedianScore *float64 `json:"median_test_score,omitempty"`
	// MedianInterval holds the median of such configurations with a probability of
	// 90 % or more, by order statistics; nil of fewer than five, of which none does.
	MedianInterval *[2]float64 `json:"median_interval,omitempty"`
	// Gain is by how much the test error of the study's returned model is lower than
	// BestTest; nil where that was not measured. GainHalf is half the width of its
	// 90 % interval over clients, which takes the two errors as independent; nil
	// where errors have no Summary.StdErr.
	Gain     *float64 `json:"gain,omitempty"`
	GainHalf *float64 `json:"gain_half,omitempty"`
	Seconds  float64  `json:"seconds"`
}

// Spent is how many rounds its trainings took together.
func (b *BaselineResult) Spent() int { return b.Rounds * len(b.Trials) }

// BaselineTrial is one random configuration.
type BaselineTrial struct {
	Number int           `json:"number"`
	Params tuners.Params `json:"params"`
	// Score is the study's objective on the clients' validation samples, NaN
	// without any.
	Score record.Real `json:"score"`
	// TestError is the test error, StdErr its standard error over clients, nil where
	// it has none.
	TestError float64  `json:"test_error"`
	StdErr    *float64 `json:"std_error,omitempty"`
	// TestScore is the objective on test samples where it is taken of probabilities and defined, else nil.
	TestScore *float64 `json:"test_score,omitempty"`
	// Seconds is how long the baseline had taken when it was done.
	Seconds float64 `json:"seconds"`
}

// Comparison is a baseline as far as it has been computed.
type Comparison struct {
	// Configurations is the number of configurations, and Rounds the number of rounds
	// that each is trained for.
	Configurations, Rounds int
	Target                 string
	// Maximize is set if higher scores are better.
	Maximize bool
	// Done are those that have been trained and measured, by their numbers.
	Done []BaselineTrial
}

// Complete reports whether all configurations are done.
func (c *Comparison) Complete() bool { return len(c.Done) >= c.Configurations }

// Stage describes in words how far it is.
func (c *Comparison) Stage() string {
	return fmt.Sprintf("random search, trial %d of %d", min(len(c.Done)+1, c.Configurations), c.Configurations)
}

// Add takes in a configuration that is done.
func (c *Comparison) Add(t BaselineTrial) {
	at, found := slices.BinarySearchFunc(c.Done, t.Number, func(a BaselineTrial, n int) int { return a.Number - n })
	if !found {
		c.Done = slices.Insert(c.Done, at, t)
	}
}

// Result sums up a complete comparison with a study's result.
func (c *Comparison) Result(r *Result) *BaselineResult {
	b := &BaselineResult{Rounds: c.Rounds, Target: c.Target, Trials: c.Done[:c.Configurations]}
	aim := tuners.Objective{}
	if c.Maximize {
		aim.Direction = tuners.Maximize
	}
	var errs, scores []float64
	for i, t := range b.Trials {
		if aim.Better(float64(t.Score), float64(b.Trials[b.Best].Score)) {
			b.Best = i
		}
		errs = append(errs, t.TestError)
		if b.Seconds = max(b.Seconds, t.Seconds); t.TestScore != nil {
			scores = append(scores, *t.TestScore)
		}
	}
	best := b.Trials[b.Best]
	if b.BestTest, b.BestScore = best.TestError, best.TestScore; len(scores) > 0 {
		score, _ := median(scores)
		b.MedianScore = &score
	}
	b.MedianTest, b.MedianInterval = median(errs)
	own := summaryOf(&r.Errors, c.Target)
	if own.Clients > 0 {
		b.Gain = new(b.BestTest - own.Error)
		if own.StdErr != nil && best.StdErr != nil && own.Clients > 1 {
			b.GainHalf = new(stats.Student(float64(own.Clients-1)) * math.Hypot(*own.StdErr, *best.StdErr))
		}
	}
	return b
}

// median returns the median of numbers and, of five or more, the narrowest pair of
// order statistics, alike far from both ends, between which the median of their
// distribution lies with a probability of stats.Confidence or more.
func median(xs []float64) (float64, *[2]float64) {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	middle := (xs[(n-1)/2] + xs[n/2]) / 2
	below := distuv.Binomial{N: float64(n), P: 0.5}
	for k := (n - 1) / 2; k >= 0; k-- { // the interval from the k-th, counted from 0, at both ends
		if 1-2*below.CDF(float64(k)) >= stats.Confidence {
			return middle, &[2]float64{xs[k], xs[n-1-k]}
		}
	}
	return middle, nil
}

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
