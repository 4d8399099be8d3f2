package command

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// printTune prints the end of a study: the result, behind all about it with --verbose.
func (a *app) printTune(c *config.Config, r *study.Result, dir string) error {
	if a.verbose {
		if err := a.printTrialsOf(c, r, dir); err != nil {
			return err
		}
		if err := a.printTuneDetails(c, r); err != nil {
			return err
		}
	}
	return a.printTuneBlock(c, r, dir, "study show "+oneline.Path(dir))
}

// printTrialsOf prints the trials of a study, and those that prepared its client tuner.
func (a *app) printTrialsOf(c *config.Config, r *study.Result, dir string) error {
	if err := printSides(a.out, r.Sides, c.Aim()); err != nil {
		return err
	}
	if err := printTableOption(a.out, c, r.Sides); err != nil {
		return err
	}
	return printTrials(a.out, c, r, study.ScaleOf(c, r.Measure), trialRows(c, r), false, dir)
}

// printTuneDetails prints what the block at the end of a study leaves out.
func (a *app) printTuneDetails(c *config.Config, r *study.Result) error {
	if err := printBaseline(a.out, r); err != nil {
		return err
	}
	if err := a.printChoice(c, r); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t := table.New(a.out)
	t.Row("rounds/s", fmt.Sprintf("%.2f", r.RoundsPerSecond))
	t.Row("weights_sha256", r.WeightsSHA256)
	if r.SurvivorSHA256 != "" {
		t.Row("survivor_sha256", r.SurvivorSHA256)
	}
	t.Row("models", modelFiles(r))
	t.Row("")
	return t.Flush()
}

// printTuneBlock prints the result of a study. The next commands come before those that
// always follow.
func (a *app) printTuneBlock(c *config.Config, r *study.Result, dir string, next ...string) error {
	b := a.tuneBlock(c, r, "in "+dir)
	b.next(append(next, "report "+oneline.Path(dir), "ui "+parentOf(dir))...)
	return b.print()
}

// tuneBlock is the result of a study; where says where it is or was played.
func (a *app) tuneBlock(c *config.Config, r *study.Result, where string) *block {
	b := newBlock(a.out, fmt.Sprintf("%s: completed in %s", c.Name, took(r.Took())), counted(len(r.Trials), "trial"), spent(c, r), where)
	b.errors(c.Aim().Target, &r.Errors)
	b.baseline(r)
	b.Row("winner", r.Why(c))
	for i, text := range r.Best.Hyperparameters(r.Trials) {
		if text != "" {
			b.Row([]string{"hyperparameters", "started from"}[i], text)
		}
	}
	b.front(c, r)
	b.localSearch(c, r.LocalSearch)
	l := learned{curve: r.Trials[r.Best.Number].Curve, goal: r.Goal, patience: r.Patience, measure: r.Measure, target: c.Measures(config.ModeTune)}
	b.curve(l)
	b.fleet(r.Trials[r.Best.Number].Fleet, r.Trials[r.Best.Number].Rounds)
	b.privacy(r.Privacy)
	b.notes(r)
	b.warnings(r.Verdict(c), a.verbose)
	return b
}

// localSearch says what clients trained by themselves, if they did.
func (b *block) localSearch(c *config.Config, l *study.LocalSearch) {
	if l == nil {
		return
	}
	told := "all scores told"
	if l.Votes > 0 {
		told = counted(l.Votes, "vote") + " each"
	}
	if l.Noise > 0 {
		told += fmt.Sprintf(", noise of %.3g on each sum over them", l.Noise)
	}
	rounds := counted((l.Points*l.Clients+c.Cohort-1)/c.Cohort, "round")
	b.Row("local search", fmt.Sprintf("%s on %s: as much training as %s beside the budget; %s", counted(l.Points, "configuration"), counted(l.Clients, "client"), rounds, told))
}

// spent says how many rounds a study took, and how much of the budget a tuner that was
// done left over, if any.
func spent(c *config.Config, r *study.Result) string {
	if b := c.Budget; !b.InRounds() {
		return fmt.Sprintf("%s, %s of %s %ss", counted(r.Rounds, "round"), table.Count(r.Spent()), table.Count(b.Tuners().Rounds), b.Unit())
	}
	left := c.Budget.Rounds - r.Rounds
	if left <= 0 || r.Stopped || r.Goal > 0 || c.Eval.Patience > 0 {
		return counted(r.Rounds, "round")
	}
	return fmt.Sprintf("%s of %s rounds (%s left %s unspent)", table.Count(r.Rounds), table.Count(c.Budget.Rounds), c.Tuner.Name, table.Count(left))
}

// trialRows are the trials of a result.
func trialRows(c *config.Config, r *study.Result) []trialRow {
	var rows []trialRow
	for _, t := range r.Trials {
		row := trialRow{number: t.Number, Place: study.Place{Rounds: t.Rounds}, state: outcome(r, t), reason: cmp.Or(t.Failed, t.Stopped), params: trained(c, t.Params), values: further(c, t.Values)}
		if len(t.Rungs) > 0 {
			row.Rung, row.Score = t.Rungs[len(t.Rungs)-1].Round, &t.Score
		}
		if t.Source != nil {
			row.source = strconv.Itoa(*t.Source)
		}
		rows = append(rows, row)
	}
	return rows
}

// further are the values of all metrics but the objective.
func further(c *config.Config, values map[string]float64) map[string]float64 {
	values = maps.Clone(values)
	delete(values, c.Aim().Metric)
	return values
}

// front adds with what a tuner began, how often a study stopped at its limit of wall time,
// how many trials are on the Pareto front, and how many are beyond a constraint.
func (b *block) front(c *config.Config, r *study.Result) {
	beyond := 0
	for _, t := range r.Trials {
		if t.Infeasible {
			beyond++
		}
	}
	if w := r.WarmStart; w != nil {
		text := fmt.Sprintf("%s of %s", counted(w.Trials, "trial"), finishedStudies(w.Studies))
		if w.Dropped > 0 {
			text += fmt.Sprintf(", without %d that do not fit the space or the objectives", w.Dropped)
		}
		text += ", " + counted(w.Rounds, "round")
		b.Row("warm start", text)
	}
	if r.Pauses > 0 {
		b.Row("wall time", fmt.Sprintf("stopped %s at budget.wall_seconds, and resumed", counted(r.Pauses, "time")))
	}
	if len(r.Objectives) > 1 {
		b.Row("Pareto front", fmt.Sprintf("%d of %s, in %s", len(r.Front), counted(len(r.Trials), "trial"), strings.Join(r.Objectives, ", ")))
	}
	if beyond > 0 {
		b.Row("infeasible", fmt.Sprintf("%s beyond %s", counted(beyond, "trial"), strings.Join(c.Constraints, ", ")))
	}
}

// finishedStudies counts finished studies.
func finishedStudies(n int) string {
	if n == 1 {
		return "1 finished study"
	}
	return fmt.Sprintf("%d finished studies", n)
}

// outcome says what became of a trial.
func outcome(r *study.Result, t study.TrialResult) string {
	words := []string{string(t.State)}
	if t.Stopped != "" {
		words = append(words, "by the user")
	}
	if t.Front {
		words = append(words, "Pareto front")
	}
	if t.Infeasible {
		words = append(words, "infeasible")
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
		parts = append(parts, strings.TrimPrefix(key, "client.")+"="+study.ValueText(p[key]))
	}
	return strings.Join(parts, " ")
}
