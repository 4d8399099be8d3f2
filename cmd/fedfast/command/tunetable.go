package command

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

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
	t.Row("rounds", table.Count(r.Rounds)+unspent(c, r))
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

// unspent says how much of the budget a tuner that was done left over, if any.
func unspent(c *config.Config, r *study.Result) string {
	left := c.Budget.Rounds - r.Rounds
	if left <= 0 || r.Stopped || r.Goal > 0 || c.Eval.Patience > 0 {
		return ""
	}
	return fmt.Sprintf(" of %s (%s left %s unspent)", table.Count(c.Budget.Rounds), c.Tuner.Name, table.Count(left))
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
		t.Row("failed", table.Count(failed)+" trials; see `fedfast study show`")
	}
	switch {
	case r.Stopped:
		t.Row("stopped", "by the user, before the tuner finished")
	case stopped > 0:
		t.Row("stopped", table.Count(stopped)+" trials by the user")
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
	return table.Count(n) + " client updates with NaN or Inf"
}

// outcome says what became of a trial.
func outcome(r *study.Result, t study.TrialResult) string {
	words := []string{string(t.State)}
	if t.Stopped != "" {
		words = append(words, "by the user")
	}
	if t.Number == r.Best.Number {
		words = append(words, "winner")
	}
	if r.Survivor != nil && t.Number == r.Survivor.Number {
		words = append(words, "survivor")
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
