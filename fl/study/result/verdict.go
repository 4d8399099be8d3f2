package result

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

// Add adds a round.
func (t *Trend) Add(loss float64) {
	if t.Lost = math.IsNaN(loss); t.Lost {
		return
	}
	if t.First == 0 {
		t.First, t.Lowest = loss, loss
	}
	t.Lowest, t.Last = min(t.Lowest, loss), loss
}

// of returns the trend of a trial that dropped a number of results of clients. Where it dropped none, a last round
// without a loss had no clients.
func (t Trend) of(dropped int) Trend {
	t.Lost = t.Lost && dropped > 0
	return t
}

// diverged reports whether the losses of a model did, whose errors are e. Those of a regression
// are in squares of its targets, so that its error is judged beside those of predicting their
// mean and 0.
func (t Trend) diverged(e *Errors) bool {
	switch grew := t.Last > t.First && t.Last >= grown*t.Lowest; {
	case t.Lost:
		return true
	case e.Measure != MeasureRMSE:
		return grew || t.Last >= high
	case e.Trivial == nil || e.GlobalTest == nil:
		return grew
	default:
		return grew && *e.GlobalTest >= e.Trivial.Global || t.Last >= t.First && e.far()
	}
}

// trendOf follows the losses of a run.
func trendOf(losses []float64) (t Trend) {
	for _, x := range losses {
		t.Add(x)
	}
	return t
}

// beats reports whether a score is better than a trivial predictor's, and whether that is
// known.
func beats(c *config.Config, trivial *Trivial, score float64) (better, known bool) {
	if trivial == nil {
		return false, false
	}
	bound := trivial.Global
	if c.Target == tuners.TargetPersonalized && trivial.Personalized != nil {
		bound = *trivial.Personalized
	}
	if bound == 0 { // nothing can be better, see Errors.Verdict
		return false, false
	}
	switch c.Objective {
	case tuners.MetricError, tuners.MetricRMSE:
		return score < bound, true
	case tuners.MetricAccuracy, tuners.MetricRecall:
		return 1-score < bound, true
	case tuners.MetricR2:
		return score > 0, true
	}
	return false, false
}

// diverged describes how the training of a model with errors e diverged, if it did, or that its
// loss fell, but not as far as its targets are small.
func diverged(t Trend, dropped int, e *Errors) []string {
	t = t.of(dropped)
	switch far := e.far() && *e.GlobalTest < limit.DivergedFit; {
	case !t.diverged(e) && far:
		return []string{fmt.Sprintf("did not learn yet: the training loss fell from %.4g to %.4g, but the RMSE is %.4g, "+
			"and that of predicting the mean %.4g; scale the targets to about 1, or train for more rounds", t.First, t.Last,
			*e.GlobalTest, e.Trivial.Global)}
	case !t.diverged(e):
		return nil
	}
	var parts []string
	switch {
	case t.Last <= grown*t.Lowest && !t.Lost:
		parts = append(parts, fmt.Sprintf("the training loss is %.4g at the end", t.Last))
	case t.Last > t.First || !t.Lost:
		parts = append(parts, fmt.Sprintf("the training loss grew from %.4g to %.4g", t.Lowest, t.Last))
	}
	if dropped > 0 {
		parts = append(parts, fmt.Sprintf("%d client results were not finite and were dropped", dropped))
	}
	if t.Lost {
		parts = append(parts, "none of the last round was kept")
	}
	return []string{"diverged: " + strings.Join(parts, ", ") + "; try a smaller client.lr"}
}

// Verdict describes in sentences what is wrong with the returned model, as that of a
// RunResult, and how many trials learned nothing if that is half of them or more.
func (r *Result) Verdict(c *config.Config) []string {
	var all []string
	if t := r.Trial(r.Best.Number); t != nil {
		all = append(diverged(t.Loss, t.Dropped, &r.Errors), r.Errors.Verdict()...)
	}
	if n, of := r.unlearned(c), len(r.Trials); 2*n >= of && of > 1 {
		all = append(all, fmt.Sprintf("%d of %d trials did not learn", n, of))
	}
	return all
}

// unlearned counts the trials that are not Learned.
func (r *Result) unlearned(c *config.Config) (n int) {
	for i := range r.Trials {
		if !r.Learned(c, i) {
			n++
		}
	}
	return n
}

// Learned reports whether a trial, by its place, neither failed nor diverged, and its last score is
// better than a trivial predictor's: that on all clients where it was a finalist.
func (r *Result) Learned(c *config.Config, i int) bool {
	t := &r.Trials[i]
	score := t.Score
	for _, f := range r.Finalists {
		if f.Trial == t.Number && c.Aim().Better(f.Score, score) {
			score = f.Score
		}
	}
	better, known := beats(c, r.Trivial, score)
	loss := t.Loss.of(t.Dropped)
	lost := loss.Lost || (!known || r.Measure != MeasureRMSE) && loss.diverged(&Errors{Measure: r.Measure})
	return t.Failed == "" && !lost && (len(t.Rungs) == 0 || !known || better)
}

// Verdict describes in sentences what is wrong with the trained model: that it diverged, or
// learned nothing. It is empty for one that has learned.
func (r *RunResult) Verdict() []string {
	return append(diverged(trendOf(r.TrainLoss), r.Dropped, &r.Errors), r.Errors.Verdict()...)
}

// far reports whether the error of a regression is many times that of predicting 0.
func (e *Errors) far() bool {
	return e.Measure == MeasureRMSE && e.Trivial != nil && e.GlobalTest != nil && *e.GlobalTest >= min(grown*e.Trivial.Zero, limit.DivergedFit)
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
		if x == nil || bound == nil {
			return
		}
		capped := e.Measure == MeasureRMSE && *x >= limit.DivergedFit // R2 is of what it was
		if capped {
			all = append(all, fmt.Sprintf("%s: the RMSE is %.4g or more, or no number, and counts as that; scale the targets, or try a smaller client.lr", model, *x))
		}
		hardly, no := *x >= (1-little)**bound, *x >= *bound
		if capped && e.Evaluation != nil {
			r2 := e.Evaluation.GlobalTest.R2
			hardly, no = r2 == nil || *r2 <= 1-(1-little)*(1-little), r2 == nil || *r2 <= 0
		}
		if !hardly {
			return
		}
		text := "hardly better"
		if no {
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
	cause, own := "all test labels are the same", "the test labels of each client are all the same"
	switch e.Trivial.Answer {
	case "mean":
		cause = "all test targets are the same"
	case "tags":
		cause = "no test sample has other tags"
		own = "no client's test samples have other tags"
	}
	most, _ := e.Trivial.Of(tuners.TargetGlobal)
	add("global model", e.GlobalTest, &e.Trivial.Global, most, cause)
	most, _ = e.Trivial.Of(tuners.TargetPersonalized)
	add("personalized models", e.PersonalizedTest, e.Trivial.Personalized, most, own)
	return all
}
