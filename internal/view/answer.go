package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Errors are those of the returned model, nil before the study's end.
func (o *Overview) Errors() *study.Errors {
	switch {
	case o.Tune != nil:
		return &o.Tune.Errors
	case o.Run != nil:
		return &o.Run.Errors
	}
	return nil
}

// ErrorText writes an error of a model, empty for one that was not measured.
func (o *Overview) ErrorText(x float64) string { return ErrorText(o.Measure(), x) }

// ErrorText writes an error of a measure, see study.Errors, empty for one that was not measured.
func ErrorText(measure string, x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	_, share := study.MeasureName(measure)
	return study.Scale{Percent: share}.Text(x)
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
	clients := fl.Summary{}
	if e.Evaluation != nil {
		clients = e.Evaluation.GlobalTest
	}
	if test = e.GlobalTest; target == tuners.TargetPersonalized {
		if test = e.PersonalizedTest; e.Evaluation != nil {
			clients = e.Evaluation.PersonalizedTest
		}
	}
	if clients.Clients > 1 {
		p90 = &clients.P90
	}
	return test, p90
}

// part is one of the errors of a returned model.
type part struct {
	name string
	of   *float64
	over func(*fl.Evaluation) *fl.Summary
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
	what, _ := study.MeasureName(o.Measure())
	parts := []part{
		{"Global", e.GlobalTest, func(e *fl.Evaluation) *fl.Summary { return &e.GlobalTest }},
		{"Personalized", e.PersonalizedTest, func(e *fl.Evaluation) *fl.Summary { return &e.PersonalizedTest }},
	}
	if o.Judged() != tuners.TargetGlobal {
		slices.Reverse(parts)
	}
	for _, part := range parts {
		if part.of == nil {
			continue
		}
		text := part.name + " test " + what + " " + o.ErrorText(*part.of)
		if e.Evaluation != nil {
			if s := part.over(e.Evaluation); s.Clients > 1 {
				text += fmt.Sprintf(" (clients: P10 %s, median %s, P90 %s)", o.ErrorText(s.P10), o.ErrorText(s.P50), o.ErrorText(s.P90))
			}
		}
		said = append(said, text+".")
	}
	if r := o.Tune; r != nil {
		said = append(said, fmt.Sprintf("Winner of %s: %s.", oneline.Count(len(o.Trials), "trial"), r.Why(o.Config)))
		settings := r.Best.Hyperparameters(r.Trials)
		for i, what := range []string{"Hyperparameters: ", "Started from: "} {
			if settings[i] != "" {
				said = append(said, what+settings[i]+".")
			}
		}
		if r.Baseline != nil {
			said = append(said, "Random search, "+Versus(r.Baseline, o.Measure())+".")
		}
	}
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

// Versus compares the returned model with random search. measure is that of the errors.
func Versus(b *study.BaselineResult, measure string) string {
	what, share := study.MeasureName(measure)
	text := fmt.Sprintf("%s test %s: best of %d is %s, median %s", b.Target, what, len(b.Trials), ErrorText(measure, b.BestTest), ErrorText(measure, b.MedianTest))
	if b.Gain != nil {
		text += "; tuned is " + Difference(-*b.Gain, b.GainHalf, share)
		if b.GainHalf != nil && math.Abs(*b.Gain) <= *b.GainHalf {
			text += Untold
		}
	}
	return text + "; " + oneline.Count(b.Spent(), "round")
}

// Untold stands behind a difference that may be chance.
const Untold = " (lower or higher cannot be told)"

// Difference writes by how much an error is lower or higher than another, with half the width of
// the interval unless that is nil; shares in points.
func Difference(x float64, half *float64, share bool) string {
	side, write, unit := "lower", func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }, " "
	if x > 0 {
		side = "higher"
	}
	if share {
		digits := 1
		if half != nil && *half < 0.01 {
			digits = 2
		}
		write, unit = func(x float64) string { return strconv.FormatFloat(100*x, 'f', digits, 64) }, " points "
	}
	text := write(math.Abs(x))
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
