package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"

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
func (o *Overview) ErrorText(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	_, share := study.MeasureName(o.Measure())
	return study.Scale{Percent: share}.Text(x)
}

// Test is the test error of the returned model under the study's target, and the one that
// nine of ten clients do not exceed; nil for what was not measured.
func (o *Overview) Test() (test, p90 *float64) {
	e := o.Errors()
	if e == nil {
		return nil, nil
	}
	clients := fl.Summary{}
	if test = e.GlobalTest; e.Evaluation != nil {
		clients = e.Evaluation.GlobalTest
	}
	if e.PersonalizedTest != nil && o.Config.Aim().Target != tuners.TargetGlobal {
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
	if o.Config.Aim().Target != tuners.TargetGlobal {
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
	if o.Best != nil {
		said = append(said, fmt.Sprintf("Best: trial %d of %d, after round %d.", o.Best.Trial, len(o.Trials), o.Best.Round))
	}
	if o.Tune != nil && o.Tune.Baseline != nil {
		said = append(said, o.versus(o.Tune.Baseline))
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

// versus compares the returned model with random search.
func (o *Overview) versus(b *study.BaselineResult) string {
	what, share := study.MeasureName(o.Measure())
	text := fmt.Sprintf("Random search (%d x %d rounds): best %s, median %s %s test %s", len(b.Trials), b.Rounds, o.ErrorText(b.BestTest), o.ErrorText(b.MedianTest), b.Target, what)
	if b.Gain != nil && share {
		better := "worse"
		if *b.Gain < 0 {
			better = "better"
		}
		half := ""
		if b.GainHalf != nil {
			half = fmt.Sprintf(" ± %.1f", 100**b.GainHalf)
		}
		text += fmt.Sprintf("; the best is %.1f%s points %s", 100*math.Abs(*b.Gain), half, better)
	}
	return text + "."
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
