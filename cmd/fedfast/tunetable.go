package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/progress"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// printTune prints the end of a study.
func (a *app) printTune(c *config.Config, r *study.Result, dir string) error {
	if err := printSides(a.out, r.Sides); err != nil {
		return err
	}
	if err := printTableOption(a.out, c, r.Sides); err != nil {
		return err
	}
	if err := printTrials(a.out, c, trialRows(c, r), false, dir); err != nil {
		return err
	}
	if err := printBaseline(a.out, r); err != nil {
		return err
	}
	if err := a.printChoice(c, r); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t := table.New(a.out)
	t.Row("trials", table.Count(len(r.Trials)))
	t.Row("rounds", table.Count(r.Rounds))
	notes(t, r)
	timing(t, r.Seconds, r.RoundsPerSecond)
	t.Row("weights_sha256", r.WeightsSHA256)
	if r.SurvivorSHA256 != "" {
		t.Row("survivor_sha256", r.SurvivorSHA256)
	}
	t.Row("models", modelFiles(r))
	t.Row("study", dir)
	if err := t.Flush(); err != nil {
		return err
	}
	return printVerdict(a.out, r.Verdict(c))
}

// trialRows are the trials of a result.
func trialRows(c *config.Config, r *study.Result) []trialRow {
	var rows []trialRow
	for _, t := range r.Trials {
		row := trialRow{number: t.Number, rounds: t.Rounds, state: outcome(r, t), reason: cmp.Or(t.Failed, t.Stopped), params: trained(c, t.Params)}
		if len(t.Rungs) > 0 {
			row.score = &t.Score
		}
		if t.Source != nil {
			row.source = strconv.Itoa(*t.Source)
		}
		rows = append(rows, row)
	}
	return rows
}

// notes adds how much was dropped and how many trials failed, if any.
func notes(t *table.Table, r *study.Result) {
	failed, stopped := 0, 0
	for _, trial := range r.Trials {
		if trial.Stopped != "" {
			stopped++
		}
		if trial.Failed != "" {
			failed++
		}
	}
	droppedNote(t, r)
	if failed > 0 {
		t.Row("failed", table.Count(failed)+" trials; `fedfast study show` says why")
	}
	switch {
	case r.Stopped:
		t.Row("stopped", "by a person, before its tuner was done")
	case stopped > 0:
		t.Row("stopped", table.Count(stopped)+" trials by a person")
	}
}

// droppedNote adds how many results of clients the trials dropped, if any.
func droppedNote(t *table.Table, r *study.Result) {
	dropped := 0
	for _, trial := range r.Trials {
		dropped += trial.Dropped
	}
	if dropped > 0 {
		t.Row("dropped", droppedText(dropped))
	}
}

// droppedText says how many results of clients were left out.
func droppedText(n int) string {
	return table.Count(n) + " results of clients that were not finite"
}

// outcome says what became of a trial.
func outcome(r *study.Result, t study.TrialResult) string {
	if t.Failed != "" {
		return "failed"
	}
	var words []string
	if t.Stopped != "" {
		words = append(words, "ended by a person")
	}
	if t.Number == r.Best.Number {
		words = append(words, "best")
	}
	if r.Survivor != nil && t.Number == r.Survivor.Number {
		words = append(words, "kept")
	}
	if len(words) == 0 {
		longest := slices.MaxFunc(r.Trials, func(a, b study.TrialResult) int { return a.Rounds - b.Rounds })
		if t.Rounds == longest.Rounds {
			return "ran to the end"
		}
		return "stopped"
	}
	return strings.Join(words, ", ")
}

// short writes params in one short line.
func short(p tuners.Params) string {
	var parts []string
	for _, key := range p.Keys() {
		parts = append(parts, strings.TrimPrefix(key, "client.")+"="+valueText(p[key]))
	}
	return strings.Join(parts, " ")
}

// printBaseline prints what the random configurations reach beside the study.
func printBaseline(w io.Writer, r *study.Result) error {
	b := r.Baseline
	if b == nil {
		return nil
	}
	fmt.Fprintf(w, "\nbaseline: %d random configurations, %d rounds each, %.1f seconds\n", len(b.Trials), b.Rounds, b.Seconds)
	t := table.New(w, "global test", "params")
	for _, trial := range b.Trials {
		t.Row(errorText(r.Measure, &trial.GlobalTestError), short(trial.Params))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	line := fmt.Sprintf("median of the baseline %s, returned model %s", errorText(r.Measure, &b.Median), errorText(r.Measure, r.GlobalTest))
	if r.GlobalTest != nil && r.Measure != study.MeasureRMSE {
		side, points := "below", 100*(b.Median-*r.GlobalTest)
		if points < 0 {
			side, points = "above", -points
		}
		line += fmt.Sprintf(": %.1f points %s", points, side)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// baselineWatch shows the progress of a baseline; its events are nobody's.
type baselineWatch struct{ *progress.Display }

func newBaselineWatch(w io.Writer, n, rounds int) baselineWatch {
	head := fmt.Sprintf("baseline: %d random configurations, %d rounds each\n", n, rounds)
	return baselineWatch{progress.New(w, terminalColumns(w), head, time.Now)}
}

var _ study.Observer = baselineWatch{}

// Event is of no use after the study.
func (baselineWatch) Event(study.Event) {}

// Progress shows a round.
func (w baselineWatch) Progress(p study.Progress) { w.Update(p) }
