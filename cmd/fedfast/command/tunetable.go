package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// printTune prints the end of a study: the result, behind all about it with --verbose.
func (a *app) printTune(c *config.Config, r *result.Result, dir string) error {
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
func (a *app) printTrialsOf(c *config.Config, r *result.Result, dir string) error {
	if err := printSides(a.out, r.Sides, c.Aim()); err != nil {
		return err
	}
	if err := printTableOption(a.out, c, r.Sides); err != nil {
		return err
	}
	o := view.Ended(c, r)
	o.Dir = dir
	return printTrials(a.out, o, false)
}

// printTuneDetails prints what the block at the end of a study leaves out.
func (a *app) printTuneDetails(c *config.Config, r *result.Result) error {
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
func (a *app) printTuneBlock(c *config.Config, r *result.Result, dir string, next ...string) error {
	o := view.Ended(c, r)
	o.Dir = dir
	if err := a.printWithout(o); err != nil {
		return err
	}
	b := a.tuneBlock(c, r, "completed in "+took(r.Took()), "in "+dir)
	b.advise(o, append(next, "report "+oneline.Path(dir), "ui "+parentOf(dir))...)
	return b.print()
}

// tuneBlock is the result of a study; state says how far it is, and where where it is or was played.
func (a *app) tuneBlock(c *config.Config, r *result.Result, state, where string) *block {
	b := newBlock(a.out, c.Name+": "+state, oneline.Count(len(r.Trials), "trial"), spent(c, r), where)
	b.errors(c.Aim().Target, &r.Errors)
	o := view.Ended(c, r)
	b.federation(o)
	b.baseline(o)
	b.Row("winner", r.Why(c))
	for i, text := range r.Best.Hyperparameters(r.Trials) {
		if text != "" {
			b.Row([]string{"hyperparameters", "started from"}[i], text)
		}
	}
	b.front(c, r)
	b.localSearch(c, r.LocalSearch)
	best := r.Trial(r.Best.Number)
	b.rungs(c, result.ScaleOf(c, r.Measure), len(best.Rungs), func(i int) (int, float64) { return best.Rungs[i].Round, best.Rungs[i].Score })
	b.curve(learned{Ending: view.OfTune(r), target: c.Measures(config.ModeTune)})
	b.fleet(best.Fleet, best.Rounds)
	b.privacy(r.Privacy)
	b.notes(r)
	b.warnings(r.Verdict(c))
	return b
}

// localSearch says what clients trained by themselves, if they did.
func (b *block) localSearch(c *config.Config, l *result.LocalSearch) {
	if l == nil {
		return
	}
	told := "all scores told"
	if l.Votes > 0 {
		told = oneline.Count(l.Votes, "vote") + " each"
	}
	if l.Noise > 0 {
		told += fmt.Sprintf(", noise of %.3g on each sum over them", l.Noise)
	}
	rounds := oneline.Count((l.Points*l.Clients+c.Cohort-1)/c.Cohort, "round")
	b.Row("local search", fmt.Sprintf("%s on %s: as much training as %s on top of the budget; %s", oneline.Count(l.Points, "configuration"), oneline.Count(l.Clients, "client"), rounds, told))
}

// spent says how many rounds a study took, and how much of the budget a tuner that was
// done left over, if any.
func spent(c *config.Config, r *result.Result) string {
	if b := c.Budget; !b.InRounds() {
		return fmt.Sprintf("%s, %s of %s %ss", oneline.Count(r.Rounds, "round"), oneline.Digits(r.Spent()), oneline.Digits(b.Tuners().Rounds), b.Unit())
	}
	left := c.Budget.Rounds - r.Rounds
	if left <= 0 || r.Stopped || r.Goal > 0 || c.Eval.Patience > 0 {
		return oneline.Count(r.Rounds, "round")
	}
	return fmt.Sprintf("%s of %s rounds (%s left %s unspent)", oneline.Digits(r.Rounds), oneline.Digits(c.Budget.Rounds), c.Tuner.Name, oneline.Digits(left))
}

// front adds with what a tuner began, how often a study stopped at its limit of wall time,
// how many trials are on the Pareto front, and how many are beyond a constraint.
func (b *block) front(c *config.Config, r *result.Result) {
	beyond := list.Count(r.Trials, func(t result.TrialResult) bool { return t.Infeasible })
	if w := r.WarmStart; w != nil {
		text := fmt.Sprintf("%s of %s", oneline.Count(w.Trials, "trial"), finishedStudies(w.Studies))
		if w.Dropped > 0 {
			text += fmt.Sprintf(", without %d that do not fit the space or the objectives", w.Dropped)
		}
		text += ", " + oneline.Count(w.Rounds, "round")
		b.Row("warm start", text)
	}
	if r.Pauses > 0 {
		b.Row("wall time", fmt.Sprintf("stopped %s at budget.wall_seconds, and resumed", oneline.Count(r.Pauses, "time")))
	}
	if len(r.Objectives) > 1 {
		b.Row("Pareto front", fmt.Sprintf("%d of %s, in %s", len(r.Front), oneline.Count(len(r.Trials), "trial"), strings.Join(r.Objectives, ", ")))
	}
	if beyond > 0 {
		b.Row("infeasible", fmt.Sprintf("%s beyond %s", oneline.Count(beyond, "trial"), strings.Join(c.Constraints, ", ")))
	}
}

// finishedStudies counts finished studies.
func finishedStudies(n int) string {
	if n == 1 {
		return "1 finished study"
	}
	return fmt.Sprintf("%d finished studies", n)
}

// mostTrials is how many trials a table shows unless all are asked for.
const mostTrials = 10

// printTrials prints the trials of a study, ten or all of them, the best first, with the
// hyperparameters in which they differ.
func printTrials(w io.Writer, o *view.Overview, all bool) error {
	keys := o.Keys()
	if picksPerClient(o.Config) { // these are each client's own
		keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, tuners.ArchPrefix) })
	}
	shown, rest := o.Ranked(), []int(nil)
	if !all && len(shown) > mostTrials {
		shown, rest = shown[:mostTrials], shown[mostTrials:]
	}
	if err := table.Text(w, o.TrialsTitle()...); err != nil {
		return err
	}
	rows := o.TrialTable(shown, keys)
	t := tableOf(w, rows.Head, rows.Rows)
	if first := len(rows.Head) - len(keys); !t.Fits() { // one column for all hyperparameters
		for i, row := range rows.Rows {
			for k, key := range keys {
				row[first+k] = strings.TrimPrefix(key, "client.") + "=" + row[first+k]
			}
			rows.Rows[i] = append(row[:first:first], strings.Join(row[first:], " "))
		}
		t = tableOf(w, append(rows.Head[:first:first], "hyperparameters"), rows.Rows)
		t.LastBelow()
	}
	if err := t.Flush(); err != nil || len(rest) == 0 {
		return err
	}
	states := map[result.State]int{}
	for _, i := range rest {
		states[o.Trials[i].State]++
	}
	counts := list.Of(slices.Sorted(maps.Keys(states)), func(state result.State) string {
		return fmt.Sprintf("%d %s", states[state], state)
	})
	_, err := fmt.Fprintf(w, "+ %s: fedfast study show %s --all\n", strings.Join(counts, ", "), oneline.Path(o.Dir))
	return err
}
