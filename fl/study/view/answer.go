package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Errors are the errors of the returned model, nil before the study's end.
func (o *Overview) Errors() *result.Errors {
	switch {
	case o.Tune != nil:
		return &o.Tune.Errors
	case o.Run != nil:
		return &o.Run.Errors
	}
	return nil
}

// ErrorText writes an error of a model.
func (o *Overview) ErrorText(x float64) string { return result.ErrorText(o.Measure(), x) }

// Told says by which numbers models are told: by an objective that is taken of probabilities, such as the ROC AUC,
// where it was measured, else by errors.
func (o *Overview) Told() result.Scale {
	e := o.Errors()
	if s := o.Scale(); s.Of != "" && (e == nil || e.Evaluation != nil && e.Evaluation.GlobalTest.Measures != nil) {
		s.Target = ""
		return s
	}
	what, share := result.MeasureName(o.Measure())
	return result.Scale{Metric: what, Percent: share}
}

// ToldOf is the number of a part of the returned model by which it is told, NaN for none.
func (o *Overview) ToldOf(p Part) float64 {
	if e := o.Errors(); e != nil {
		return told(e, p, o.Told())
	}
	return math.NaN()
}

// TestScores are what the configured values, and the best and the median of random search, have of the objective on
// test samples where models are told by that; nil where it was not measured.
func (o *Overview) TestScores() (own, best, median *float64) {
	s := o.Told()
	if o.Tune == nil || s.Of == "" {
		return nil, nil, nil
	}
	if r := o.Tune.Reference; r != nil && r.Model != nil {
		own = new(told(&r.Model.Errors, Tests(r.Target)[0], s))
	}
	if b := o.Tune.Baseline; b != nil {
		best, median = b.BestScore, b.MedianScore
	}
	return own, best, median
}

// told is the number of a part of a model on a scale of Told, NaN for none.
func told(e *result.Errors, p Part, s result.Scale) float64 {
	x := p.Of(&e.Rates)
	if s.Of != "" && e.Evaluation != nil {
		x = p.Over(e.Evaluation).Measures.Get(s.Of)
	}
	return result.Defined(x)
}

// Judged returns the target by which the study is told and ranked.
func (o *Overview) Judged() string { return o.Config.Judged(o.Mode) }

// Test is the test error of the returned model under a target, and the one that nine of ten
// clients do not exceed; nil for what was not measured.
func (o *Overview) Test(target string) (test, p90 *float64) {
	e := o.Errors()
	if e == nil {
		return nil, nil
	}
	p := Tests(target)[0]
	if e.Evaluation != nil {
		if s := p.Over(e.Evaluation); s.Clients > 1 {
			p90 = &s.P90
		}
	}
	return p.Of(&e.Rates), p90
}

// Answer tells in sentences, the most important one first, how good the model is that
// the study returned, or by an estimate the best one so far, and what random search
// reached beside it.
func (o *Overview) Answer() []string {
	e := o.Errors()
	if e == nil {
		return o.estimate()
	}
	var said []string
	what, _ := result.MeasureName(o.Measure())
	for _, part := range Tests(o.Judged())[:2] {
		x := part.Of(&e.Rates)
		if x == nil {
			continue
		}
		text := part.Name + " " + what + " " + o.ErrorText(*x)
		if e.Evaluation != nil {
			if s := part.Over(e.Evaluation); s.Clients > 1 {
				text += fmt.Sprintf(" (clients: P10 %s, median %s, P90 %s)", o.ErrorText(s.P10), o.ErrorText(s.P50), o.ErrorText(s.P90))
			}
		}
		said = append(said, Sentence(text))
	}
	if text := MeasureText(o.Judged(), e); text != "" {
		said = append(said, "Measures: "+text+".")
	}
	for _, text := range (Seeds{o}).Federation() {
		said = append(said, Sentence(text))
	}
	if r := o.Tune; r != nil {
		said = append(said, fmt.Sprintf("Winner of %s: %s.", oneline.Count(len(o.Suggested()), "trial"), r.Why(o.Config)))
		settings := r.Best.Hyperparameters(r.Trials)
		for i, what := range []string{"Hyperparameters: ", "Started from: "} {
			if settings[i] != "" {
				said = append(said, what+settings[i]+".")
			}
		}
		if text := o.OverDefault(); text != "" {
			said = append(said, "Default: "+text+".")
		}
		if text := o.Versus(); text != "" {
			said = append(said, "Random search, "+text+".")
		}
	}
	said = append(said, Seeds{o}.Ended()...)
	if a := o.Privacy(); a != nil {
		text := "Privacy: " + a.Cost()
		if a.Deployment {
			text += " for the deployment that was simulated, and for this run itself " + a.OwnCost()
		}
		said = append(said, text+".")
	}
	return said
}

// Privacy returns what a private run or study cost, nil of one that is not private or has not
// ended.
func (o *Overview) Privacy() *config.Account {
	switch {
	case o.Tune != nil:
		return o.Tune.Privacy
	case o.Run != nil:
		return o.Run.Privacy
	}
	return nil
}

// Versus compares the returned model with random search; empty for no comparison.
func (o *Overview) Versus() string {
	if o.Tune == nil || o.Tune.Baseline == nil {
		return ""
	}
	b, scale := o.Tune.Baseline, o.Told()
	what, share := result.MeasureName(o.Measure())
	text := ""
	if _, best, median := o.TestScores(); best != nil {
		text = fmt.Sprintf("%s test %s: best of %d is %s, median %s, tuned %s; ", b.Target, scale.Metric, len(b.Trials),
			scale.Text(*best), scale.TextOf(median), scale.Text(TestOf(b.Target)(o)))
	}
	text += fmt.Sprintf("%s test %s: best of %d is %s, median %s", b.Target, what, len(b.Trials), o.ErrorText(b.BestTest), o.ErrorText(b.MedianTest))
	if m := b.MedianInterval; m != nil {
		text += fmt.Sprintf(" (%s to %s)", strings.TrimSuffix(o.ErrorText(m[0]), " %"), o.ErrorText(m[1]))
	}
	if b.Gain != nil {
		text += tuned(*b.Gain, b.GainHalf, share)
	}
	return text + "; " + oneline.Count(b.Spent(), "round")
}

// OverDefault compares the returned model with the configured values; it is empty where nothing is
// known of them.
func (o *Overview) OverDefault() string {
	if o.Tune == nil {
		return ""
	}
	r := o.Tune.Reference
	returned := r != nil && r.Number == o.Tune.Best.Number
	switch {
	case r != nil && r.Trial != nil && r.Trial.Failed != "":
		return "the configured values: training failed in " + r.Trial.Failed
	case r == nil || r.Gain == nil:
		return ""
	}
	_, share := result.MeasureName(o.Measure())
	text := fmt.Sprintf("%s with the configured values (%s, %s)", o.ErrorText(*r.Test), r.Target, oneline.Count(r.Model.Round, "round"))
	if own, _, _ := o.TestScores(); own != nil {
		s := o.Told()
		text = fmt.Sprintf("%s %s, tuned %s; error %s", s.Metric, s.Text(*own), s.Text(TestOf(r.Target)(o)), text)
	}
	if returned {
		return text + ": no trial was better, so they are returned"
	}
	return text + tuned(*r.Gain, r.GainHalf, share)
}

// tuned writes by how much the error of the returned model is lower, with half the width of the
// interval unless that is nil.
func tuned(gain float64, half *float64, share bool) string {
	text := "; tuned is " + Difference(-gain, half, share)
	if half != nil && gain != 0 && math.Abs(gain) <= *half {
		text += Untold
	}
	return text
}

// Untold follows a difference that may be chance.
const Untold = " (may be chance)"

// Difference writes by how much an error is lower or higher than another, with half the width of
// the interval unless that is nil; shares in points.
func Difference(x float64, half *float64, share bool) string {
	if x == 0 && (half == nil || !(*half > 0)) {
		return "equal"
	}
	side, write, unit := " lower", decimals(result.Defined(half)), ""
	if x > 0 {
		side = " higher"
	}
	if share {
		digits := 1
		if half != nil && *half < 0.01 {
			digits = 2
		}
		write, unit = func(x float64) string { return strconv.FormatFloat(100*x, 'f', digits, 64) }, " points"
	}
	text := write(math.Abs(x))
	if half != nil && *half > 0 && strings.Trim(text, "0.") == "" {
		return "equal to within " + write(*half) + unit
	}
	if half != nil && !math.IsNaN(*half) {
		text += " ± " + write(*half)
	}
	return text + unit + side
}

// Warnings says what is wrong with how many of several studies, from the verdict of each.
func Warnings(verdicts [][]string, what string) (all []string) {
	var kinds []string
	count := map[string]int{}
	for _, v := range verdicts {
		for _, text := range v {
			kind, _, _ := strings.Cut(text, " (") // numbers differ
			if count[kind]++; count[kind] == 1 {
				kinds = append(kinds, kind)
			}
		}
	}
	for _, kind := range kinds {
		all = append(all, fmt.Sprintf("%d of %s: %s", count[kind], oneline.Count(len(verdicts), what), kind))
	}
	return all
}

// estimate tells what is known before the end.
func (o *Overview) estimate() []string {
	if b := o.Best; b != nil {
		return []string{fmt.Sprintf("Best so far (estimate): ~%s %s, trial %d, %s.", o.Scale().Text(b.Score), o.Scale(), b.Trial, b.Basis())}
	}
	if o.Mode == config.ModeTune {
		return []string{"No trial has a score yet."}
	}
	return []string{oneline.Count(o.Rounds, "round") + " of " + strconv.Itoa(o.Budget) + " trained; errors are measured at the end."}
}
