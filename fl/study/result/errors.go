package result

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Rates are the classification errors of a model, weighted by samples:
// of its weights as they are (global) and of those that each client trains
// from them (personalized), on the clients' validation and test samples.
type Rates struct {
	GlobalVal        *float64 `json:"global_val_error"`
	GlobalTest       *float64 `json:"global_test_error"`
	PersonalizedVal  *float64 `json:"personalized_val_error"`
	PersonalizedTest *float64 `json:"personalized_test_error"`
	// UnseenTest is the error on clients that never train, null without any.
	UnseenTest *float64 `json:"unseen_test_error,omitempty"`
	// UnseenAdapted is the same after these clients have trained, as in a first round.
	UnseenAdapted *float64 `json:"unseen_adapted_test_error,omitempty"`
}

// Errors are a model's.
type Errors struct {
	Rates
	// Masked are the same without the labels of the federation's masks, in their
	// order; nil where it has none.
	Masked []MaskedRates `json:"masked,omitempty"`
	// Measure is what the errors are: MeasureRecall or MeasureRMSE, or empty for the
	// share of samples classified wrongly.
	Measure string `json:"error_measure,omitempty"`
	// Trivial are the errors of predictors that learn nothing, nil without test samples.
	Trivial *Trivial `json:"trivial,omitempty"`
	// Evaluation holds the same with losses and spreads over the clients.
	Evaluation *fl.Evaluation `json:"evaluation"`
}

// The values of Errors.Measure: 1 less the recall of several labels, and the root of
// the mean squared error of a regression.
const (
	MeasureRecall = "1 - recall"
	MeasureRMSE   = "rmse"
)

// MeasureName is how pages and axes name an error of the measure, and whether it is a
// share, which they write in percent.
func MeasureName(measure string) (name string, share bool) {
	switch measure {
	case MeasureRMSE:
		return "RMSE", false
	case MeasureRecall:
		return measure, true
	}
	return "error", true
}

// MaskedRates are a model's errors without the labels of a mask.
type MaskedRates struct {
	// Mask is the mask's name, see data.Mask.
	Mask string `json:"mask"`
	Rates
}

// MeasureOf describes what the errors of a study's models are, see Errors.Measure, as far
// as its configuration determines it.
func MeasureOf(c *config.Config) string {
	target := nn.Loss{Kind: nn.LossKind(c.Loss.Name)}.Target()
	switch {
	case target == nn.Numbers, c.Objective == tuners.MetricRMSE, c.Objective == tuners.MetricMAE, c.Objective == tuners.MetricR2:
		return MeasureRMSE
	case target == nn.ManyLabels, c.Objective == tuners.MetricRecall:
		return MeasureRecall
	}
	return ""
}

// Trivial are the test errors of predictors that look at no input: what a model must
// beat to have learned anything.
type Trivial struct {
	// Answer is what they always answer with: "class", "token", "tags" or "mean".
	Answer string `json:"answer"`
	// Global is the error of always answering with what is most frequent among the test
	// samples that were measured: a class or a token, or as many tags as count, or the
	// mean of the numbers.
	Global float64 `json:"global_test_error"`
	// Zero is the error of always predicting 0, of a regression.
	Zero float64 `json:"zero_test_error,omitempty"`
	// Personalized is the error of always answering with what is most frequent among each
	// client's own training samples; nil for regressions, and where no personalized
	// models were measured.
	Personalized *float64 `json:"personalized_test_error,omitempty"`
}

// Of names the predictor of a target, and returns its test error; NaN for one that there is none of.
func (t *Trivial) Of(target string) (predictor string, test float64) {
	switch {
	case t == nil || target == tuners.TargetPersonalized && t.Personalized == nil:
		return "", math.NaN()
	case target == tuners.TargetPersonalized:
		return "guessing each client's most frequent " + t.Answer, *t.Personalized
	case t.Answer == "mean":
		return "predicting the mean", t.Global
	}
	return "guessing the most frequent " + t.Answer, t.Global
}

// MeasureOfModel describes what the errors of a model are, see Errors.Measure.
func MeasureOfModel(m *nn.Model) string {
	switch l := m.Loss(); {
	case l.Target() == nn.ManyLabels:
		return MeasureRecall
	case l.Numbers():
		return MeasureRMSE
	}
	return ""
}

// StandingRounds is over how many of a trial's newest rounds a Standing is the mean.
const StandingRounds = 5

// Standing is an estimate of how good a trial's model is: the mean score of its
// newest rounds, each scored on that round's cohort alone. The best score of any
// single round would be that of the luckiest cohort.
type Standing struct {
	// Trial had run Round rounds.
	Trial, Round int
	// Score is the mean, NaN without any score.
	Score float64
	// Rounds is how many rounds it is of, at most 5; Clients the mean size of their
	// cohorts.
	Rounds, Clients int
	// Short is set while the trial is on the way to its first rung and has run
	// fewer than 5 rounds: others stand before it.
	Short bool
}

// Before reports whether a standing is better than another one; of equal ones, that of
// the lower trial number is.
func (s Standing) Before(o Standing, aim tuners.Objective) bool {
	switch {
	case math.IsNaN(s.Score) != math.IsNaN(o.Score):
		return math.IsNaN(o.Score)
	case s.Short != o.Short:
		return o.Short
	case s.Score != o.Score:
		return aim.Better(s.Score, o.Score)
	}
	return s.Trial < o.Trial
}

// Basis describes what the estimate is from: "mean of 5 rounds, 10 clients each".
func (s Standing) Basis() string {
	if s.Rounds == 1 {
		return fmt.Sprintf("1 round, %s", oneline.Count(s.Clients, "client"))
	}
	return fmt.Sprintf("mean of %d rounds, %s each", s.Rounds, oneline.Count(s.Clients, "client"))
}

// Recent holds the newest rounds of a trial, which it is given in their order. The
// zero value stands for no rounds.
type Recent struct {
	scores  [StandingRounds]float64
	clients [StandingRounds]int
	rounds  int // in all
}

// Add adds a round with its own score and the size of its cohort.
func (r *Recent) Add(score float64, clients int) {
	at := r.rounds % StandingRounds
	r.scores[at], r.clients[at] = score, clients
	r.rounds++
}

// Standing returns that of a trial after a number of rounds; rung means that one closes
// there.
func (r *Recent) Standing(trial, round int, rung bool) Standing {
	n := min(r.rounds, StandingRounds)
	s := Standing{Trial: trial, Round: round, Score: math.NaN(), Rounds: n, Short: n < StandingRounds && !rung}
	if n == 0 {
		return s
	}
	sum := 0.0
	for i := r.rounds - n; i < r.rounds; i++ {
		sum += r.scores[i%StandingRounds]
		s.Clients += r.clients[i%StandingRounds]
	}
	s.Score, s.Clients = sum/float64(n), (s.Clients+n/2)/n
	return s
}

// Discounted is the mean of a series in which an entry of age a weighs
// discount^a, the newest having age 0, or the mean of its newest entries. The zero value
// stands for no entries.
type Discounted struct {
	sum, weight float64
	newest      []float64
}

// Add adds an entry and returns the mean. discount, see config.Config.Discount, is the same
// at every call: 0 is the newest entry alone, a number from 2 on the mean of as many newest
// entries.
func (d *Discounted) Add(x, discount float64) float64 {
	if discount > 1 {
		d.newest = append(d.newest, x)
		d.newest = d.newest[max(0, len(d.newest)-int(discount)):]
		sum := 0.0
		for _, y := range d.newest {
			sum += y
		}
		return sum / float64(len(d.newest))
	}
	d.sum = float64(d.sum*discount) + x
	d.weight = float64(d.weight*discount) + 1
	return d.sum / d.weight
}
