package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/dashboard"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
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
	// Notes are what people wrote beside the study.
	Notes view.Notes `json:"notes,omitzero"`
	scale result.Scale
	about *view.Overview // nil with a Problem
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

// listStudies prints the studies below a directory that have all tags.
func (a *app) listStudies(ctx context.Context, root string, tags []string) error {
	entries := []studyEntry{}
	dirs, unread, err := view.Below(ctx, root)
	switch {
	case errors.Is(err, fs.ErrNotExist) && root == workdir.Home: // the first study makes it
	case errors.Is(err, fs.ErrNotExist):
		return usageError{fmt.Errorf("%s: directory not found; list another one with: fedfast study list DIR", root)}
	case err != nil:
		return err
	}
	if unread > 0 {
		a.notice(fmt.Sprintf("%s below %s cannot be read and may contain studies", oneline.Count(unread, "folder"), root))
	}
	if a.json {
		for _, dir := range dirs {
			e := readEntry(ctx, dir, view.Patience)
			e.about = nil // all studies' trials may be more than memory holds
			if parent := filepath.Dir(dir); workdir.HoldsSeeds(parent) {
				notes, _ := view.ReadNotes(parent) // the list goes without
				e.Notes.Add(notes.Tags...)
			}
			if e.Notes.Tagged(tags) {
				entries = append(entries, e)
			}
		}
		return a.printJSON(entries)
	}
	if len(dirs) == 0 {
		fmt.Fprintf(a.out, "no studies in %s; begin one with: fedfast tune; list others with: fedfast study list DIR\n",
			root)
		return nil
	}
	all, err := dashboard.List(ctx, root)
	if err != nil {
		return err
	}
	tagged := list.Where(all.Studies, func(e dashboard.Entry) bool { return e.Notes.Tagged(tags) })
	if len(tagged) == 0 {
		_, err := fmt.Fprintf(a.out, "no studies in %s have the tag %s\n", root, strings.Join(tags, " and "))
		return err
	}
	return a.printStudies(root, tagged)
}

// unreadable is the state in a list of a study with a Problem.
const unreadable = "unreadable"

// printStudies prints rows of seven columns that fit the terminal: without the columns that tell
// least if need be, and with the ends of paths that are longer than what is left.
func (a *app) printStudies(root string, entries []dashboard.Entry) error {
	rows := [][]string{{"study", "state", "trials", "rounds", "global test", "personalized", "age"}}
	colors, warned, problem := []screen.Color{screen.Plain}, false, false
	for _, e := range entries {
		state, color, trials := string(e.State), screen.Plain, oneline.Digits(e.Trials)
		switch {
		case e.Problem != "":
			state, color, problem = unreadable, screen.Red, true
		case e.Verdict != nil:
			state, color, warned = state+"*", screen.Yellow, true
		case e.State == view.Interrupted:
			color = screen.Yellow
		}
		if e.Seeds != nil {
			trials = oneline.Count(len(e.Seeds), "seed")
		}
		row := []string{filepath.Join(root, filepath.FromSlash(e.Dir)), state, trials, oneline.Digits(e.Rounds)}
		for _, target := range view.Targets {
			text := strings.ReplaceAll(plain(e.Tests[target].Text), " +- ", "+-")
			if text != "" && e.Told != e.Measure {
				text += " " + e.Told
			}
			row = append(row, cmp.Or(text, "-"))
		}
		rows = append(rows, append(row, age(e.Started), view.Notes{Tags: e.Notes.Tags}.Text()))
		colors = append(colors, color)
	}
	if err := table.List(a.out, rows, colors, 3, 2, 6, 5); err != nil {
		return err
	}
	var notes []string
	if warned {
		notes = append(notes, "* with warnings; to read them: fedfast study show STUDY")
	}
	if problem {
		notes = append(notes, unreadable+": fedfast study show STUDY says why")
	}
	return table.Text(a.out, notes...)
}

// age says how long ago a study began.
func age(began *time.Time) string {
	if began == nil {
		return "-"
	}
	d := time.Since(*began)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return oneline.Digits(int(d/time.Hour/24)) + " d"
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
		return e.scale.Text(*e.BestScore)
	case e.BestSoFar != nil:
		return "~" + e.scale.Text(e.BestSoFar.Score)
	}
	return "-"
}

// readEntry sums a study up, as far as it can be read.
func readEntry(ctx context.Context, dir string, within time.Duration) studyEntry {
	o, err := view.Brief(ctx, dir, within)
	if err != nil {
		return studyEntry{Dir: dir, Problem: oneline.Of(err.Error())}
	}
	return entryOf(o)
}

// entryOf sums a study up.
func entryOf(o *view.Overview) studyEntry {
	e := studyEntry{Dir: o.Dir, Name: o.Name, Command: o.Mode, State: o.State, Trials: len(o.Suggested()), Rounds: o.Rounds, about: o}
	e.Notes = o.Notes
	if o.State == view.Running {
		e.PID = o.PID
	}
	if !o.Started.IsZero() {
		e.Started = o.Started.UTC().Format(time.RFC3339)
	}
	for _, target := range view.Targets {
		if test, _ := o.Test(target); test != nil && (e.TestError == nil || target == o.Judged()) {
			e.TestError, e.TestTarget = new(*test), target // not a part of the result, which it would keep
		}
	}
	switch {
	case o.Tune != nil:
		e.WeightsSHA256, e.BestScore = o.Tune.WeightsSHA256, new(o.Tune.Best.Score)
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
	return e
}
