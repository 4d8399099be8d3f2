package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// studyEntry is a line of `study list --json`.
type studyEntry struct {
	Dir  string `json:"dir"`
	Name string `json:"name"`
	// Command is "tune" or "run".
	Command string     `json:"command"`
	State   view.State `json:"state"`
	// PID is the process that works on a running study.
	PID    int `json:"pid,omitempty"`
	Trials int `json:"trials"`
	Rounds int `json:"rounds"`
	// Stage says what a running study does after its trials, empty for nothing else.
	Stage string `json:"stage,omitempty"`
	// BestSoFar is an estimate of the best trial of a study without a returned model;
	// BestScore is the score of that. null without any.
	BestSoFar *bestSoFar `json:"best_so_far"`
	BestScore *float64   `json:"best_score"`
	// TestError is the test error of the returned model under TestTarget, by which the study is told and
	// ranked; null without any.
	TestError  *float64 `json:"test_error"`
	TestTarget string   `json:"test_target,omitempty"`
	// Objective and Direction say what scores are and which are better.
	Objective     string `json:"objective,omitempty"`
	Direction     string `json:"direction,omitempty"`
	WeightsSHA256 string `json:"weights_sha256,omitempty"`
	Started       string `json:"started,omitempty"`
	Problem       string `json:"problem,omitempty"`
	scale         result.Scale
	about         *view.Overview // nil with a Problem
	cells         []string       // test errors by testTargets as people read them
}

// testTargets are the targets of the columns with test errors.
var testTargets = []string{tuners.TargetGlobal, tuners.TargetPersonalized}

// meanTests writes the mean test errors of seeds of a study, or that of one study, by testTargets.
func meanTests(seeds ...studyEntry) (cells []string) {
	var all view.Seeds
	for _, e := range seeds {
		if e.about != nil {
			all = append(all, e.about)
		}
	}
	for _, target := range testTargets {
		cells = append(cells, cmp.Or(plain(all.Mean(view.TestOf(target))), "-"))
	}
	return cells
}

// bestSoFar is a result.Standing.
type bestSoFar struct {
	Trial   int     `json:"trial"`
	Round   int     `json:"round"`
	Score   float64 `json:"score"`
	Rounds  int     `json:"rounds"`
	Clients int     `json:"clients"`
	basis   string
}

// listStudies prints the studies below a directory.
func (a *app) listStudies(ctx context.Context, root string) error {
	entries := []studyEntry{}
	dirs, unread, err := view.Below(ctx, root)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("%s: directory not found; list another one with: fedfast study list DIR", root)}
	}
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		entries = append(entries, entryOf(ctx, dir, view.Patience))
	}
	if unread > 0 {
		a.notice(fmt.Sprintf("%s below %s cannot be read and may contain studies", oneline.Count(unread, "folder"), root))
	}
	if a.json {
		return a.printJSON(entries)
	}
	if len(entries) == 0 {
		fmt.Fprintf(a.out, "no studies in %s; to look elsewhere: fedfast study list DIR\n", root)
		return nil
	}
	t := table.New(a.out, "study", "command", "state", "trials", "rounds", "global test", "personalized test", "validation", "started")
	for _, e := range grouped(entries, root) {
		score := e.score()
		if score != "-" {
			score += " (" + e.scale.Target + ")"
		}
		t.Row(e.Dir, e.Command, e.stateText(), oneline.Digits(e.Trials), oneline.Digits(e.Rounds), e.cells[0], e.cells[1], score, e.Started)
	}
	return t.Flush()
}

// grouped makes one entry of the studies below root that --seeds began together, with the
// mean of their test errors; the newest come first.
func grouped(entries []studyEntry, root string) (rows []studyEntry) {
	seeds := map[string][]studyEntry{}
	for _, e := range entries {
		if dir := filepath.Dir(e.Dir); e.Problem == "" && dir != filepath.Clean(root) && workdir.HoldsSeeds(dir) {
			seeds[dir] = append(seeds[dir], e)
		} else {
			e.cells = meanTests(e)
			rows = append(rows, e)
		}
	}
	order := []view.State{view.Completed, view.Interrupted, view.Running}
	for dir, all := range seeds {
		g := all[0]
		g.Dir, g.Trials, g.Rounds, g.BestScore, g.BestSoFar, g.cells = fmt.Sprintf("%s (%d seeds)", dir, len(all)), 0, 0, nil, nil, meanTests(all...)
		for _, e := range all {
			g.Trials, g.Rounds, g.Started = g.Trials+e.Trials, g.Rounds+e.Rounds, min(g.Started, e.Started)
			if slices.Index(order, e.State) > slices.Index(order, g.State) {
				g.State, g.PID, g.Stage = e.State, e.PID, e.Stage
			}
		}
		rows = append(rows, g)
	}
	slices.SortFunc(rows, func(a, b studyEntry) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(a.Dir, b.Dir))
	})
	return rows
}

// stateText writes the state, with what a running study does and who works on it.
func (e *studyEntry) stateText() string {
	if e.Problem != "" {
		return e.Problem
	}
	state := string(e.State)
	if e.PID > 0 {
		state += " (process " + strconv.Itoa(e.PID) + ")"
	}
	if e.Stage != "" {
		state += ": " + e.Stage
	}
	return state
}

// score writes the score of the returned model, or an estimate of the best so far.
func (e *studyEntry) score() string {
	switch {
	case e.BestScore != nil:
		return e.scale.Text(*e.BestScore) + " " + e.scale.Metric
	case e.BestSoFar != nil:
		return "~" + e.scale.Text(e.BestSoFar.Score) + " " + e.scale.Metric
	}
	return "-"
}

// entryOf sums a study up.
func entryOf(ctx context.Context, path string, within time.Duration) studyEntry {
	e, err := summed(ctx, path, within)
	if err != nil {
		e.Problem = oneline.Of(err.Error())
	}
	return e
}

// summed sums a study up as far as it can be read.
func summed(ctx context.Context, path string, within time.Duration) (studyEntry, error) {
	e := studyEntry{Dir: path}
	o, err := view.Brief(ctx, path, within)
	if err != nil {
		return e, err
	}
	e.Name, e.Command, e.State, e.Trials, e.Rounds = o.Name, o.Mode, o.State, len(o.Trials), o.Rounds
	if o.State == view.Running {
		e.PID = o.PID
	}
	if !o.Started.IsZero() {
		e.Started = o.Started.UTC().Format(time.RFC3339)
	}
	e.about = o
	for _, target := range testTargets {
		if test, _ := o.Test(target); test != nil && (e.TestError == nil || target == o.Judged()) {
			e.TestError, e.TestTarget = test, target
		}
	}
	switch {
	case o.Tune != nil:
		e.WeightsSHA256, e.BestScore = o.Tune.WeightsSHA256, &o.Tune.Best.Score
	case o.Run != nil:
		e.WeightsSHA256 = o.Run.WeightsSHA256
	}
	if o.Mode == config.ModeTune {
		e.scale = o.Scale()
		e.Objective, e.Direction = e.scale.String(), o.Config.Aim().Direction.String()
		if b := o.Best; b != nil && !b.Returned {
			e.BestSoFar = &bestSoFar{b.Trial, b.Round, b.Score, b.Rounds, b.Clients, b.Basis()}
		}
		e.Stage = o.Stage()
	}
	return e, nil
}
