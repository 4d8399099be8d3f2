package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/export"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/fl/study/workdir"
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
		return a.showSeeds(ctx, dir)
	}
	v, err := store.Look(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	entry := entryOf(ctx, dir)
	if entry.Problem != "" {
		return errors.New(entry.Problem)
	}
	if a.json {
		return a.printShown(ctx, v, entry)
	}
	sessions, err := v.Table(ctx, "sessions")
	if err != nil {
		return err
	}
	t := table.New(a.out)
	t.Row("study", dir)
	t.Row("name", entry.Name)
	t.Row("command", "fedfast "+entry.Command)
	state := string(entry.State)
	if entry.Stage != "" {
		state += ", " + entry.Stage
	}
	t.Row("state", state)
	if entry.PID > 0 {
		t.Row("process", strconv.Itoa(entry.PID))
	}
	t.Row("started", entry.Started)
	t.Row("sessions", table.Count(len(sessions.Rows)))
	t.Row("trials", table.Count(entry.Trials))
	t.Row("rounds", table.Count(entry.Rounds))
	if b := entry.BestSoFar; b != nil {
		t.Row("best so far", fmt.Sprintf("~%s %v, trial %d, %s", entry.scale.Text(b.Score), entry.scale, b.Trial, b.basis))
	}
	if entry.BestScore != nil {
		t.Row("winner", entry.scale.Text(*entry.BestScore)+" "+entry.scale.String())
	}
	if entry.WeightsSHA256 != "" {
		t.Row("weights_sha256", entry.WeightsSHA256)
	}
	end, err := study.Read(ctx, v)
	if err != nil {
		return err
	}
	c, err := config.Load(config.Source{Text: end.Config})
	if err != nil {
		return err
	}
	switch {
	case end.Tune != nil:
		droppedNote(t, end.Tune)
	case end.Run != nil:
		runNotes(t, c, end.Run)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := a.showWorkers(ctx, v); err != nil {
		return err
	}
	if err := a.showTrials(ctx, v, dir, all); err != nil {
		return err
	}
	if err := a.showEnd(ctx, v, end, c); err != nil {
		return err
	}
	if entry.State == view.Interrupted {
		fmt.Fprintf(a.out, "\nresume with: fedfast study resume %s\n", dir)
	}
	return nil
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
	fmt.Fprintln(a.out)
	t := table.New(a.out, shown...)
	for _, row := range workers.Rows {
		var cells []string
		for _, name := range shown {
			cells = append(cells, cell(workers, row, name))
		}
		t.Row(cells...)
	}
	return t.Flush()
}

// showTrials prints the trials so far.
func (a *app) showTrials(ctx context.Context, v *store.View, dir string, all bool) error {
	trials, err := v.Table(ctx, "trials")
	if err != nil {
		return err
	}
	s, err := study.Read(ctx, v)
	if err != nil {
		return err
	}
	c, err := config.Load(config.Source{Text: s.Config})
	if err != nil {
		return err
	}
	var rows []trialRow
	for _, row := range trials.Rows {
		r, err := trialRowOf(trials, row)
		if err != nil {
			return err
		}
		r.params = trained(c, r.params)
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	return printTrials(a.out, c, rows, all, dir)
}

// trialRowOf reads a row of the table trials.
func trialRowOf(t *store.Table, row []any) (r trialRow, err error) {
	at := func(name string) any { return row[slices.Index(t.Columns, name)] }
	number, _ := at("number").(int64)
	rounds, _ := at("rounds").(int64)
	r = trialRow{number: int(number), rounds: int(rounds)}
	r.state, _ = at("state").(string)
	r.reason, _ = at("reason").(string)
	if score, ok := at("score").(float64); ok {
		r.score = &score
	}
	if source, ok := at("source").(int64); ok {
		r.source = strconv.FormatInt(source, 10)
	}
	if text, ok := at("params").(string); ok {
		err = json.Unmarshal([]byte(text), &r.params)
	}
	return r, err
}

// showEnd prints how a finished study ended, as `tune` and `run` do, and the
// curves of one that is at work.
func (a *app) showEnd(ctx context.Context, v *store.View, s *study.Stored, c *config.Config) error {
	switch {
	case s.Tune != nil:
		if err := printBaseline(a.out, s.Tune); err != nil {
			return err
		}
		if err := a.printChoice(c, s.Tune); err != nil {
			return err
		}
		return printVerdict(a.out, s.Tune.Verdict(c))
	case s.Run != nil:
		fmt.Fprintln(a.out)
		if err := ofRun(s.Run).print(a.out); err != nil {
			return err
		}
		if err := printErrors(a.out, measured{"trained", s.Run.Errors}); err != nil {
			return err
		}
		return printVerdict(a.out, s.Run.Verdict())
	}
	return a.showCurves(ctx, v)
}

// showCurves prints the newest test errors that eval.every has measured.
func (a *app) showCurves(ctx context.Context, v *store.View) error {
	curves, err := v.Table(ctx, "curves")
	if err != nil || len(curves.Rows) == 0 {
		return err
	}
	shown := []string{"trial", "round", "examples", "test_error"}
	fmt.Fprintln(a.out, "\nglobal models, last evaluation")
	t := table.New(a.out, shown...)
	for i, row := range curves.Rows {
		if i+1 < len(curves.Rows) && curves.Rows[i+1][0] == row[0] {
			continue
		}
		var cells []string
		for _, name := range shown {
			cells = append(cells, cell(curves, row, name))
		}
		t.Row(cells...)
	}
	return t.Flush()
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
