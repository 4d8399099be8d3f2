package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/export"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/view"
)

// studyShown is what `study show --json` tells.
type studyShown struct {
	studyEntry
	Trials    []map[string]any `json:"trials"`
	Finalists []map[string]any `json:"finalists"`
	Models    []map[string]any `json:"models"`
	Curves    []map[string]any `json:"curves"`
	Baseline  []map[string]any `json:"baseline"`
	Sessions  []map[string]any `json:"sessions"`
	Workers   []map[string]any `json:"workers"`
}

// showStudy prints what a study has done so far, with ten of its trials or all.
func (a *app) showStudy(ctx context.Context, dir string, all bool) error {
	if workdir.HoldsSeeds(dir) {
		return a.showSeeds(ctx, dir, true)
	}
	v, err := store.Look(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	entry := entryOf(ctx, dir, time.Hour)
	if entry.Problem != "" {
		return errors.New(entry.Problem)
	}
	if a.json {
		return a.printShown(ctx, v, entry)
	}
	end, err := study.Read(ctx, v)
	if err != nil {
		return err
	}
	c, err := config.Load(config.Source{Text: end.Config})
	if err != nil {
		return err
	}
	if a.verbose {
		if err := a.showSessions(ctx, v, &entry); err != nil {
			return err
		}
	}
	if err := a.showWorkers(ctx, v); err != nil {
		return err
	}
	if entry.Command == config.ModeTune {
		if err := a.showTrials(ctx, v, c, end.Tune, &entry, dir, all); err != nil {
			return err
		}
	}
	if err := a.showEnd(ctx, v, end, c, &entry); err != nil {
		return err
	}
	return a.showWorst(ctx, dir)
}

// mostWorst is how many clients showWorst names.
const mostWorst = 5

// showWorst prints the clients with the highest test errors, by name.
func (a *app) showWorst(ctx context.Context, dir string) error {
	v, o, err := view.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	all, err := v.Clients(ctx, o)
	if err != nil || len(all) < 2 {
		return err
	}
	what, _ := study.MeasureName(o.Measure())
	target := "global"
	var worst []string
	for _, c := range view.Worst(all)[:min(mostWorst, len(all))] {
		if view.Own(c) == 0 {
			break
		}
		if !math.IsNaN(c.Personalized) {
			target = "personalized"
		}
		worst = append(worst, fmt.Sprintf("%s (%s of %s)", oneline.Name(c.Name), o.ErrorText(view.Own(c)), counted(c.Samples, "sample")))
	}
	if len(worst) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	return table.Text(a.out, fmt.Sprintf("worst clients by %s test %s: %s", target, what, strings.Join(worst, ", ")))
}

// showSessions prints how a study was worked on.
func (a *app) showSessions(ctx context.Context, v *store.View, entry *studyEntry) error {
	sessions, err := v.Table(ctx, "sessions")
	if err != nil {
		return err
	}
	t := table.New(a.out)
	t.Row("command", "fedfast "+entry.Command)
	t.Row("started", entry.Started)
	t.Row("sessions", table.Count(len(sessions.Rows)))
	t.Row("")
	return t.Flush()
}

// printShown prints the tables of a study as JSON.
func (a *app) printShown(ctx context.Context, v *store.View, entry studyEntry) error {
	shown := studyShown{studyEntry: entry}
	for _, t := range []struct {
		name string
		into *[]map[string]any
	}{
		{"trials", &shown.Trials},
		{"finalists", &shown.Finalists},
		{"models", &shown.Models},
		{"curves", &shown.Curves},
		{"baseline", &shown.Baseline},
		{"sessions", &shown.Sessions},
		{"workers", &shown.Workers},
	} {
		rows, err := export.Rows(ctx, v, t.name)
		if err != nil {
			return err
		}
		*t.into = rows
	}
	return a.printJSON(shown)
}

// showWorkers prints the workers of a study with a cluster.
func (a *app) showWorkers(ctx context.Context, v *store.View) error {
	workers, err := v.Table(ctx, "workers")
	if err != nil || len(workers.Rows) == 0 {
		return err
	}
	shown := []string{"worker", "state", "last_trial", "trials", "rounds", "rounds_per_second", "workers", "level", "cpu"}
	t := table.New(a.out, shown...)
	for _, row := range workers.Rows {
		var cells []string
		for _, name := range shown {
			cells = append(cells, cell(workers, row, name))
		}
		t.Row(cells...)
	}
	t.Row("")
	return t.Flush()
}

// showTrials prints the trials so far.
func (a *app) showTrials(ctx context.Context, v *store.View, c *config.Config, end *study.Result, entry *studyEntry, dir string, all bool) error {
	trials, err := v.Table(ctx, "trials")
	if err != nil {
		return err
	}
	var rows []trialRow
	for _, row := range trials.Rows {
		r, err := trialRowOf(trials, row)
		if err != nil {
			return err
		}
		r.params, r.values = trained(c, r.params), further(c, r.values)
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := printTrials(a.out, c, end, entry.scale, rows, all, dir); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out)
	return err
}

// trialRowOf reads a row of the table trials.
func trialRowOf(t *store.Table, row []any) (r trialRow, err error) {
	at := func(name string) any { return row[slices.Index(t.Columns, name)] }
	number, _ := at("number").(int64)
	rounds, _ := at("rounds").(int64)
	rung, _ := at("rung").(int64)
	r = trialRow{number: int(number), Place: study.Place{Rung: int(rung), Rounds: int(rounds)}}
	r.state, _ = at("state").(string)
	r.reason, _ = at("reason").(string)
	if score, ok := at("score").(float64); ok {
		r.Score = &score
	}
	if source, ok := at("source").(int64); ok {
		r.source = strconv.FormatInt(source, 10)
	}
	if front, _ := at("front").(int64); front == 1 {
		r.state += ", Pareto front"
	}
	if text, ok := at("values").(string); ok {
		if err := json.Unmarshal([]byte(text), &r.values); err != nil {
			return r, err
		}
	}
	if text, ok := at("params").(string); ok {
		err = json.Unmarshal([]byte(text), &r.params)
	}
	return r, err
}

// showEnd prints how a finished study ended, as `tune` and `run` do, and what others have
// come to.
func (a *app) showEnd(ctx context.Context, v *store.View, s *study.Stored, c *config.Config, entry *studyEntry) error {
	switch {
	case s.Tune != nil:
		if a.verbose {
			if err := a.printTuneDetails(c, s.Tune); err != nil {
				return err
			}
		}
		return a.printTuneBlock(c, s.Tune, entry.Dir)
	case s.Run != nil:
		if err := ofRun(c, s.Run).print(a.out); err != nil {
			return err
		}
		if a.verbose {
			if err := a.printRunDetails(s.Run); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(a.out)
		}
		return a.printRunBlock(c, s.Run, entry.Dir)
	}
	return a.printUnfinished(ctx, v, c, entry)
}

// printUnfinished prints what a study has come to that is at work or was interrupted.
func (a *app) printUnfinished(ctx context.Context, v *store.View, c *config.Config, entry *studyEntry) error {
	rounds := c.Rounds
	if entry.Command == config.ModeTune {
		rounds = c.Budget.Rounds
	}
	done := table.Count(entry.Rounds) + " of " + table.Count(rounds)
	if entry.Command == config.ModeTune && !c.Budget.InRounds() {
		done = table.Count(entry.Rounds)
	}
	head := []string{fmt.Sprintf("%s: %s after %s rounds", c.Name, entry.stateText(), done)}
	if entry.Command == config.ModeTune {
		head = append(head, counted(entry.Trials, "trial"))
	}
	b := newBlock(a.out, append(head, "in "+entry.Dir)...)
	shown := 0
	if best := entry.BestSoFar; best != nil {
		b.Row("best so far", fmt.Sprintf("~%s %v, trial %d, %s", entry.scale.Text(best.Score), entry.scale, best.Trial, best.basis))
		shown = best.Trial
	}
	curve, err := curveOf(ctx, v, shown)
	if err != nil {
		return err
	}
	b.curve(learned{curve: curve, measure: entry.measure, target: c.Measures(entry.Command)})
	dir := oneline.Path(entry.Dir)
	if entry.State == view.Interrupted {
		b.next("study resume "+dir, "report "+dir)
	} else {
		b.next("ui " + parentOf(entry.Dir))
	}
	return b.print()
}

// curveOf reads the test errors of a trial's global model so far.
func curveOf(ctx context.Context, v *store.View, trial int) (curve []study.CurvePoint, err error) {
	t, err := v.Table(ctx, "curves")
	if err != nil {
		return nil, err
	}
	for _, row := range t.Rows {
		at := func(name string) any { return row[slices.Index(t.Columns, name)] }
		if number, _ := at("trial").(int64); int(number) != trial {
			continue
		}
		round, _ := at("round").(int64)
		if e, ok := at("test_error").(float64); ok {
			curve = append(curve, study.CurvePoint{Round: int(round), TestError: e})
		}
	}
	return curve, nil
}

// cell writes a value of a row for people.
func cell(t *store.Table, row []any, column string) string {
	switch x := row[slices.Index(t.Columns, column)].(type) {
	case float64:
		return fmt.Sprintf("%.4g", x)
	case nil:
		return "-"
	default:
		return fmt.Sprint(x)
	}
}
