package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/view"
)

func newStudy(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List studies",
		Long:  "List the studies in a directory (default: studies) and its subdirectories.",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			root := workdir.Home
			if len(args) > 0 {
				root = args[0]
			}
			return a.listStudies(cmd.Context(), root)
		}),
	}
	var all bool
	show := &cobra.Command{
		Use:               "show DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Show the results of a study, including a running one",
		Args:              cobra.ExactArgs(1),
		RunE:              a.work(func(cmd *cobra.Command, args []string) error { return a.showStudy(cmd.Context(), args[0], all) }),
	}
	show.Flags().BoolVar(&all, "all", false, "show all trials, not only the top ten")
	a.verboseFlag(show)
	return group("study", "List, show, resume and export studies", list, show, newResume(a), newExport(a))
}

// newResume resumes a study or a run by what its directory holds.
func newResume(a *app) *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:               "resume DIR",
		ValidArgsFunction: completeStudy,
		Short:             "Resume an interrupted study or run",
		Long:              "Resume an interrupted study or run with its recorded configuration. If it has finished, print its\nresult again.",
		Args:              cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return o.validate()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			o.dir = args[0]
			if workdir.HoldsSeeds(o.dir) {
				if err := o.alone(true); err != nil {
					return err
				}
				return o.resumeSeeds(cmd.Context(), a)
			}
			mode, err := modeOf(cmd.Context(), o.dir)
			if err != nil {
				return err
			}
			if a.seedGiven {
				return usageError{errors.New("--seed: a resumed study keeps its seed")}
			}
			if mode == config.ModeRun && o.ui.listen != "" {
				return usageError{fmt.Errorf("--ui: %s was created by `fedfast run`; use `fedfast ui %s` to show it", o.dir, o.dir)}
			}
			if mode == config.ModeRun {
				r := &runOptions{studyOptions{dir: o.dir, configOptions: o.configOptions}, o.cluster}
				s, err := r.open(cmd.Context(), a, nil, config.ModeRun)
				if err != nil {
					return err
				}
				return r.run(cmd.Context(), a, s)
			}
			s, err := o.open(cmd.Context(), a, nil, config.ModeTune)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, s)
		}),
	}
	o.addTuneFlags(cmd)
	a.verboseFlag(cmd)
	cmd.Flags().StringArrayVar(&o.moves, "set", nil, "set `KEY=VALUE`; only data.path and data.state_memory may change (repeatable)")
	return cmd
}

// resumeSeeds resumes the studies of several seeds.
func (o *tuneOptions) resumeSeeds(ctx context.Context, a *app) error {
	if a.seedGiven {
		return usageError{errors.New("--seed: resumed studies keep their seeds")}
	}
	record, err := workdir.ReadSeeds(o.dir)
	if err != nil {
		return err
	}
	if record.Command == config.ModeRun {
		return (&runOptions{studyOptions: o.studyOptions}).runSeeds(ctx, a, nil)
	}
	return o.tuneSeeds(ctx, a, nil)
}

// modeOf returns the command that began a study. Where its record is damaged, the
// environment that was written beside it says so.
func modeOf(ctx context.Context, dir string) (string, error) {
	v, err := store.Look(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) && !workdir.Holds(dir) {
		return "", usageError{err}
	}
	if err == nil {
		defer func() { _ = v.Close() }() // it was read only
		if s, err := study.Read(ctx, v); err == nil && s.Mode != "" {
			return s.Mode, nil
		}
	}
	mode, _ := workdir.Beginning(dir)
	if mode == "" && err != nil {
		return "", err
	}
	if mode == "" {
		return "", fmt.Errorf("%s: cannot be resumed: neither %s nor %s and %s are readable; start again in another directory", dir, store.File, workdir.ConfigFile, workdir.EnvFile)
	}
	return mode, nil
}

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
	// Objective and Direction say what scores are and which are better.
	Objective     string `json:"objective,omitempty"`
	Direction     string `json:"direction,omitempty"`
	WeightsSHA256 string `json:"weights_sha256,omitempty"`
	Started       string `json:"started,omitempty"`
	Problem       string `json:"problem,omitempty"`
	scale         study.Scale
}

// bestSoFar is a study.Standing.
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
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && store.Exists(path) {
			entries = append(entries, entryOf(ctx, path))
			return fs.SkipDir
		}
		return ctx.Err()
	})
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("%s: directory not found", root)}
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(entries)
	}
	if len(entries) == 0 {
		fmt.Fprintf(a.out, "no studies in %s\n", root)
		return nil
	}
	t := table.New(a.out, "study", "command", "state", "trials", "rounds", "validation", "started")
	for _, e := range entries {
		t.Row(e.Dir, e.Command, e.stateText(), table.Count(e.Trials), table.Count(e.Rounds), e.score(), e.Started)
	}
	return t.Flush()
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
		state += ", " + e.Stage
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
func entryOf(ctx context.Context, path string) studyEntry {
	e, err := summed(ctx, path)
	if err != nil {
		e.Problem = oneline.Of(err.Error())
	}
	return e
}

// summed sums a study up as far as it can be read.
func summed(ctx context.Context, path string) (studyEntry, error) {
	e := studyEntry{Dir: path}
	v, o, err := view.Open(ctx, path)
	if err != nil {
		return e, err
	}
	defer func() { _ = v.Close() }() // it was read only
	e.Name, e.Command, e.State, e.Trials, e.Rounds = o.Name, o.Mode, o.State, len(o.Trials), o.Rounds
	if o.State == view.Running {
		e.PID = o.PID
	}
	if !o.Started.IsZero() {
		e.Started = o.Started.UTC().Format(time.RFC3339)
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
		if o.Baseline != nil && o.State != view.Completed {
			e.Stage = o.Baseline.Stage()
		}
	}
	return e, nil
}
