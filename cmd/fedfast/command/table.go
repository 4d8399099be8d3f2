package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/recorded"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// tableOptions are the flags of table record.
type tableOptions struct {
	studyOptions
	configs, rounds, every int
	output, target         string
	site                   site
	hub                    *cluster.Hub // of all seeds; nil before the first trains on workers
}

func newTable(a *app) *cobra.Command {
	o := &tableOptions{}
	record := &cobra.Command{
		Use:               "record [FILE]",
		ValidArgsFunction: completeFile,
		Short:             "Train configurations of a study's space and record every client's errors",
		Args:              cobra.MaximumNArgs(1),
		PreRunE:           func(*cobra.Command, []string) error { return o.validate() },
		RunE:              a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) }),
	}
	o.configOptions.addFlags(record)
	f := record.Flags()
	f.IntVar(&o.configs, "configs", 128, "number of configurations")
	f.IntVar(&o.rounds, "rounds", 0, "rounds of each (default: budget.trial_rounds)")
	f.IntVar(&o.every, "every", 0, "rounds between the recorded ones (default: about 30 of them; 1 for rungs at any round)")
	f.StringVar(&o.target, "target", tuners.TargetGlobal, "`MODELS` whose errors are recorded: global, or personalized, each client's own after local training")
	f.Var(&o.seeds, "seeds", "train with `N` consecutive seeds (default 1)")
	f.StringVar(&o.output, "out", "", "`FILE` to write, whose name ends in .parquet")
	o.site.addFlags(record, "NAME-studies")
	info := &cobra.Command{
		Use:   "info FILE",
		Short: "Describe a recorded table",
		Args:  cobra.ExactArgs(1),
		RunE:  a.work(func(_ *cobra.Command, args []string) error { return a.tableInfo(args[0]) }),
	}
	return group("table", "Record, describe and check tables of tuning, on which tuners are replayed", record, info, newTableCheck(a))
}

// newTableCheck trains a row again.
func newTableCheck(a *app) *cobra.Command {
	var row int
	var sets []string
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Train a row of a table again, and compare it to the bit",
		Args:  cobra.ExactArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			t, err := recorded.Open(args[0])
			if err != nil {
				return err
			}
			if row < 0 || row >= len(t.Rows) {
				return usageError{fmt.Errorf("--row %d: the table has the rows 0 to %d", row, len(t.Rows)-1)}
			}
			if err := t.Retrain(cmd.Context(), row, a.workers, sets); err != nil {
				return err
			}
			checked := &t.Rows[row]
			if a.json {
				return a.printJSON(checked)
			}
			same := "the same errors and weights after " + oneline.Count(checked.Rounds, "round")
			if checked.Failed != "" {
				same += ", then failed as recorded: " + checked.Failed
			}
			_, err = fmt.Fprintf(a.out, "row %d (configuration %d, seed %d): %s\n", row, checked.Config, checked.Seed, same)
			return err
		}),
	}
	cmd.Flags().IntVar(&row, "row", 0, "number of the row, from 0: by seed, then by configuration")
	cmd.Flags().StringArrayVar(&sets, "set", nil, "set `KEY=VALUE`; only data.path and data.state_memory may change (repeatable)")
	return cmd
}

func (o *tableOptions) validate() error {
	if err := o.site.validate(false); err != nil {
		return err
	}
	if o.output == "" {
		return errors.New("--out: name the file to write, such as t.parquet")
	}
	if err := recorded.CheckPath(o.output); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	if o.target != tuners.TargetGlobal && o.target != tuners.TargetPersonalized {
		return fmt.Errorf("--target %q: must be %s or %s", o.target, tuners.TargetGlobal, tuners.TargetPersonalized)
	}
	const most = recorded.MostRounds
	if o.configs < 1 || o.rounds < 0 || o.every < 0 || max(o.configs, o.rounds, o.every) > most {
		return fmt.Errorf("--configs, --rounds and --every: must be positive integers, at most %d", most)
	}
	return writable([]output{{"--out", o.output}, {"--out", recorded.HeadPath(o.output)}})
}

// run trains what is not trained yet and writes the table.
func (o *tableOptions) run(ctx context.Context, a *app, args []string) error {
	asked, places, err := o.load(a, args, config.ModeTune)
	if err != nil {
		return err
	}
	o.rounds = cmp.Or(o.rounds, asked.Budget.TrialRounds)
	if o.rounds < 1 {
		return usageError{errors.New("--rounds: give the rounds of each configuration, since budget.trial_rounds is not set")}
	}
	o.every = cmp.Or(o.every, recorded.Every(o.rounds))
	c, err := recorded.Training(asked, o.target, o.configs, o.rounds, min(o.every, o.rounds))
	if err == nil {
		err = c.Absolute()
	}
	if err != nil {
		return usageError{places.Explain(err)}
	}
	all, err := workdir.OpenRepeated(strings.TrimSuffix(o.output, recorded.Suffix)+"-studies", c, config.ModeTune, max(1, int(o.seeds)))
	if err != nil {
		return wrongStudy(err)
	}
	var dirs []string
	var seeds []uint64
	err = all.Each(ctx, func(i int, path string, c *config.Config) error {
		dirs, seeds = append(dirs, path), append(seeds, c.Seed)
		return o.train(ctx, a, path, c, fmt.Sprintf("seed %d of %d", i+1, all.Seeds))
	})
	if o.hub != nil {
		o.hub.Close(err == nil)
	}
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return errors.New("interrupted; the same command goes on")
		}
		return places.Explain(err)
	}
	fed, _, err := config.Prepare(ctx, c)
	if err != nil {
		return err
	}
	t, err := recorded.New(ctx, asked, fed, dirs, seeds)
	if err = errors.Join(err, fed.Close()); err != nil {
		return err
	}
	if err := t.Write(o.output); err != nil {
		return err
	}
	return a.tableInfo(o.output)
}

// train brings the study of a seed to its end, unless it is there.
func (o *tableOptions) train(ctx context.Context, a *app, path string, c *config.Config, label string) (err error) {
	st, err := workdir.Open(ctx, path, c, config.ModeTune, a.newLog())
	if err != nil {
		return wrongStudy(err)
	}
	s := &opened{Study: st, label: label}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Finished(0) != nil {
		return nil
	}
	work, end := s.work(a, config.ModeTune, 0)
	work.Launcher = recorded.Launcher()
	var workers *cluster.Coordinator
	if ready := work.Ready; o.site.address != "" {
		work.Ready = func(ctx context.Context, setup *study.Setup) error {
			err := ready(ctx, setup)
			if err == nil && o.hub == nil {
				o.hub, err = o.site.open(ctx, a, filepath.Dir(path))
			}
			if err == nil {
				workers, err = o.hub.Open(ctx, setup)
				setup.Trainer = workers
			}
			return err
		}
	}
	_, err = s.Tune(ctx, work)
	end()
	if workers != nil {
		workers.Close(err == nil)
	}
	return err
}

// tableSummary is what table info prints with --json.
type tableSummary struct {
	File string `json:"file"`
	recorded.Head
	// Diverged counts the trainings that failed or whose results were all left out from a
	// round on.
	Diverged int `json:"diverged"`
	// BestConfig has the lowest validation error after the last round, on all clients.
	BestConfig   int     `json:"best_config"`
	BestValError float64 `json:"best_val_error"`
	Bytes        int64   `json:"bytes"`
}

// tableInfo describes a table.
func (a *app) tableInfo(path string) error {
	t, err := recorded.Open(path)
	if err != nil {
		return err
	}
	diverged := 0
	for i := range t.Rows {
		if t.Rows[i].Diverged > 0 {
			diverged++
		}
	}
	best, lowest := t.Best()
	scale := result.Scale{}
	scale.Metric, scale.Percent = result.MeasureName(t.Measure)
	if a.json {
		return a.printJSON(tableSummary{File: path, Head: t.Head, Diverged: diverged, BestConfig: best, BestValError: lowest, Bytes: t.Bytes})
	}
	b := newBlock(a.out, fmt.Sprintf("%s: table of %s", path, t.Name), oneline.Count(len(t.Configurations), "configuration"), oneline.Count(t.Rounds, "round"), oneline.Count(t.Seeds(), "seed"))
	b.Row("recorded", fmt.Sprintf("%s at rounds 0, %d, ... %d", oneline.Count(len(t.Clients), "client"), t.RecordEvery, t.Rounds), oneline.Digits(int(t.Bytes))+" bytes")
	if t.Target != "" {
		b.Row("errors", "of "+t.Target+" models")
	}
	if diverged > 0 {
		b.Row("diverged", fmt.Sprintf("%d of %s", diverged, oneline.Count(len(t.Rows), "training")))
	}
	if best >= 0 {
		b.Row("best", fmt.Sprintf("configuration %d: %s validation %s", best, scale.Text(lowest), scale.Metric))
		b.Row("hyperparameters", result.Assigned(t.Configurations[best], t.Configurations[best].Keys()))
	}
	b.Row("fedfast", t.Fedfast.String())
	b.next("tune --table " + oneline.Path(path) + " --tuner hyperband")
	return b.print()
}

// tableReplay is what tune --table prints with --json: the result of a study, and how the
// table answered.
type tableReplay struct {
	*result.Result
	Table string `json:"table"`
	// Near counts trials that took the row of another configuration, Again those that took a
	// row that another trial had.
	Near  int `json:"near"`
	Again int `json:"again"`
}

// playTable plays a tuner on a table.
func (o *tuneOptions) playTable(ctx context.Context, a *app) error {
	t, err := recorded.Open(o.table)
	if err != nil {
		return usageError{err}
	}
	var seed *uint64
	if a.seedGiven {
		seed = &a.seed
	}
	c, err := t.Study(o.sets, seed, o.tuner)
	if err != nil {
		return usageError{err}
	}
	if o.clientTuner != "none" {
		c.ClientTuner.Name = o.clientTuner
	}
	tuner, err := a.launcher(false)(ctx, workdir.Launch{Key: "tuner.name", Name: c.Tuner.Name})
	if err != nil {
		return err
	}
	defer tuner.Close()
	whole := c.Budget.Rounds
	if !slices.ContainsFunc(o.sets, func(set string) bool { return strings.HasPrefix(set, "budget.rounds=") }) {
		if err := t.Fit(ctx, c, tuner); err != nil {
			return usageError{err}
		}
	}
	curves := t.Player(c.Seed)
	r, err := study.Played{Config: *c, Tuner: tuner, Curves: curves, Measure: t.Measure, Target: t.Target}.Play(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(tableReplay{r, o.table, curves.Near, curves.Again})
	}
	if a.verbose {
		if err := printTrials(a.out, view.Ended(c, r), true); err != nil {
			return err
		}
	}
	b := a.tuneBlock(c, r, "completed in "+took(r.Took()), "on "+o.table)
	if c.Budget.Rounds < whole {
		b.Row("budget", fmt.Sprintf("%d rounds: the table has %d, of which %s accepts no more", c.Budget.Rounds, whole, c.Tuner.Name))
	}
	if curves.Near > 0 {
		b.Row("table", fmt.Sprintf("%d of %s not in it, replaced by the nearest configuration", curves.Near, oneline.Count(len(r.Trials), "suggestion")))
	}
	if curves.Again > 0 {
		b.Row("", fmt.Sprintf("%s used again, since all were used", oneline.Count(curves.Again, "configuration")))
	}
	return b.print()
}
