package study

import (
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

const (
	// grown is by which factor a training loss, or an error over that of a trivial
	// predictor, grows in a training that diverges.
	grown = 100
	// high is a mean cross-entropy, in nats, that no training has which does not diverge:
	// guessing among 10,000 classes has 9.2, among 500 tags 347.
	high = 1000
	// little is the share of a trivial predictor's error by which a model must be
	// better to have learned more than hardly anything.
	little = 0.05
)

// Trend is how the training loss of a trial went, over rounds in which not all clients
// were dropped.
type Trend struct {
	First  float64 `json:"first"`
	Lowest float64 `json:"lowest"`
	Last   float64 `json:"last"`
	// Lost is set if all clients of the last round were dropped.
	Lost bool `json:"lost,omitempty"`
}

// add adds a round.
func (t *Trend) add(loss float64) {
	if t.Lost = math.IsNaN(loss); t.Lost {
		return
	}
	if t.First == 0 {
		t.First, t.Lowest = loss, loss
	}
	t.Lowest, t.Last = min(t.Lowest, loss), loss
}

// diverged reports whether the losses did.
func (t Trend) diverged() bool {
	return t.Lost || t.Last >= limit.DivergedLoss || t.Last > t.First && t.Last >= grown*t.Lowest
}

// trendOf follows the losses of a run.
func trendOf(losses []float64) (t Trend) {
	for _, x := range losses {
		t.add(x)
	}
	return t
}

// Verdict describes in sentences what is wrong with the trained model: that it diverged, or
// learned nothing. It is empty for one that has learned.
func (r *RunResult) Verdict() []string {
	return append(diverged(trendOf(r.TrainLoss), r.Dropped, r.Measure), r.Errors.Verdict()...)
}

// Verdict describes in sentences what is wrong with the returned model, as that of a
// RunResult, and how many trials learned nothing if that is half of them or more.
func (r *Result) Verdict(c *config.Config) []string {
	var all []string
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Number == r.Best.Number {
			all = append(diverged(t.Loss, t.Dropped, r.Measure), r.Errors.Verdict()...)
		}
	}
	if n := r.unlearned(c); 2*n >= len(r.Trials) && len(r.Trials) > 1 {
		all = append(all, fmt.Sprintf("%d of %d trials did not learn", n, len(r.Trials)))
	}
	return all
}

// unlearned counts the trials that failed, diverged, or whose last score is no better
// than a trivial predictor's.
func (r *Result) unlearned(c *config.Config) (n int) {
	for i := range r.Trials {
		t := &r.Trials[i]
		if t.Failed != "" || t.Loss.diverged() || len(t.Rungs) > 0 && !beats(c, r.Trivial, t.Score) {
			n++
		}
	}
	return n
}

// beats reports whether a score is better than a trivial predictor's, as far as that is
// known.
func beats(c *config.Config, trivial *Trivial, score float64) bool {
	if trivial == nil {
		return true
	}
	bound := trivial.Global
	if c.Target == tuners.TargetPersonalized && trivial.Personalized != nil {
		bound = *trivial.Personalized
	}
	if bound == 0 { // nothing can be better, see Errors.Verdict
		return true
	}
	switch c.Objective {
	case tuners.MetricError, tuners.MetricRMSE:
		return score < bound
	case tuners.MetricAccuracy, tuners.MetricRecall:
		return 1-score < bound
	case tuners.MetricR2:
		return score > 0
	}
	return true
}

// diverged describes how a training diverged, if it did. measure is that of its errors.
func diverged(t Trend, dropped int, measure string) []string {
	above := measure != MeasureRMSE && t.Last >= high
	if !t.diverged() && !above {
		return nil
	}
	var parts []string
	switch {
	case above && t.Last <= grown*t.Lowest:
		parts = append(parts, fmt.Sprintf("the training loss is %.4g at the end", t.Last))
	case t.Last > t.First:
		parts = append(parts, fmt.Sprintf("the training loss grew from %.4g to %.4g", t.Lowest, t.Last))
	}
	if dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d client results were not finite and were dropped", dropped))
	}
	if t.Lost {
		parts = append(parts, "none of the last round was kept")
	}
	text := "diverged"
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return []string{text + "; try a smaller client.lr"}
}

// Verdict reports in sentences whether a model is no better than predictors that look at no
// input, or these are perfect, so that the error tells nothing. It is empty for one that
// is better.
func (e *Errors) Verdict() []string {
	if e.Trivial == nil {
		return nil
	}
	var all []string
	add := func(model string, x *float64, bound *float64, predictor, cause string) {
		if x == nil || bound == nil || *x < (1-little)**bound {
			return
		}
		text := "hardly better"
		if *x >= *bound {
			text = "no better"
		}
		limit := fmt.Sprintf("%.2f %% error", 100**bound)
		if e.Measure == MeasureRMSE {
			limit = fmt.Sprintf("RMSE %.4g", *bound)
		}
		if *bound == 0 {
			all = append(all, fmt.Sprintf("%s: always %s is perfect without any training (%s), so the error says nothing about the model: %s", model, predictor, limit, cause))
			return
		}
		all = append(all, fmt.Sprintf("%s: %s than always %s (%s)", model, text, predictor, limit))
	}
	most, cause := "guessing the most frequent "+e.Trivial.Answer, "all test labels are the same"
	own := "the test labels of each client are all the same"
	switch e.Trivial.Answer {
	case "mean":
		most, cause = "predicting the mean", "all test targets are the same"
	case "tags":
		cause = "no test sample has other tags"
		own = "no client's test samples have other tags"
	}
	add("global model", e.GlobalTest, &e.Trivial.Global, most, cause)
	add("personalized models", e.PersonalizedTest, e.Trivial.Personalized, "guessing each client's most frequent "+e.Trivial.Answer, own)
	return all
}
