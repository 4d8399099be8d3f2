package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// runOptions are the flags of run.
type runOptions struct {
	studyOptions
	cluster clusterFlag
	from    string
}

func newRun(a *app) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:               "run [FILE]",
		ValidArgsFunction: completeFile,
		Short:             "Train a federated model once, without tuning",
		Args:              cobra.MaximumNArgs(1),
		PreRunE:           func(*cobra.Command, []string) error { return o.cluster.validate(o.seeds > 0) },
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if err := o.follow(cmd.Context(), args, "--from", o.from, winnerOf); err != nil {
				return err
			}
			if o.estimate {
				return o.printEstimate(cmd.Context(), a, args, config.ModeRun, 0)
			}
			if o.seeds > 0 {
				return o.runSeeds(cmd.Context(), a, args)
			}
			s, err := o.open(cmd.Context(), a, args, config.ModeRun)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, s)
		}),
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.from, "from", "", "train the winner of the finished study `STUDY` anew: its configuration with the hyperparameters that it ended with")
	cmd.MarkFlagsMutuallyExclusive("from", "preset")
	o.cluster.addFlags(cmd.Flags())
	o.baseline.run = true
	cmd.Flags().Var(&o.baseline, "baseline", "then also train what is in `LIST`, to compare: local (each client alone), pooled (all samples together)")
	a.verboseFlag(cmd)
	return cmd
}

// run resumes a training, or prints the stored result of a finished one.
func (o *runOptions) run(ctx context.Context, a *app, s *opened) error {
	r, err := o.finish(ctx, a, s)
	return s.show(a, r, err, func() error { return a.printRun(s.Config, r, s.Path()) })
}

// runSeeds resumes the trainings of several seeds.
func (o *runOptions) runSeeds(ctx context.Context, a *app, args []string) error {
	return o.trainSeeds(ctx, a, args, config.ModeRun, func(inner studyOptions, one *opened) error {
		_, err := (&runOptions{studyOptions: inner}).finish(ctx, a, one)
		return err
	})
}

// finish brings a training to its end, unless it is there, and gives its directory
// back.
func (o *runOptions) finish(ctx context.Context, a *app, s *opened) (r *result.RunResult, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	if r := s.Ran(); r != nil {
		return r, nil
	}
	work, end := s.work(a, config.ModeRun, 0)
	o.cluster.open(a, &work, config.ModeRun)
	r, err = s.Run(ctx, work)
	if o.from != "" {
		err = s.Config.Moved(err)
	}
	end()
	o.cluster.finish(ctx, s, err)
	return r, interrupted(ctx, s.places.Explain(err), o.resumable(s))
}

// printRun prints the end of a run: the result, behind all about it with --verbose.
func (a *app) printRun(c *config.Config, r *result.RunResult, dir string) error {
	if a.verbose {
		if err := ofRun(c, r).print(a.out); err != nil {
			return err
		}
		if err := a.printRunDetails(r); err != nil {
			return err
		}
	}
	return a.printRunBlock(c, r, dir)
}

// printRunDetails prints what the block at the end of a run leaves out.
func (a *app) printRunDetails(r *result.RunResult) error {
	if err := printErrors(a.out, view.Model{Name: "trained", Errors: r.Errors}); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t := table.New(a.out)
	t.Row("rounds/s", fmt.Sprintf("%.2f", r.RoundsPerSecond))
	if r.Traffic != nil {
		t.Row("traffic", r.Traffic.Sums())
	}
	t.Row("weights_sha256", r.WeightsSHA256)
	t.Row("")
	return t.Flush()
}

// printRunBlock prints the result of a run.
func (a *app) printRunBlock(c *config.Config, r *result.RunResult, dir string) error {
	o := &view.Overview{Dir: dir, Mode: config.ModeRun, State: view.Completed, Config: c, Run: r}
	if err := a.printWithout(o); err != nil {
		return err
	}
	b := newBlock(a.out, fmt.Sprintf("%s: completed in %s", c.Name, took(r.Seconds)), oneline.Count(r.Rounds, "round"), "in "+dir)
	b.errors(c.Judged(config.ModeRun), &r.Errors)
	b.federation(o)
	b.curve(ofRun(c, r))
	b.privacy(r.Privacy)
	if r.Traffic != nil && !r.Traffic.Plainly() {
		b.Row("updates", r.Traffic.Describe())
	}
	b.fleet(r.Fleet, r.Rounds)
	if r.DigestShare > 0 {
		b.Row("digests", fmt.Sprintf("of all rounds: %.2g %% of their time", 100*r.DigestShare))
	}
	b.dropped(r.Dropped, r.Dropped == r.Rounds*c.Updates())
	b.warnings(r.Verdict())
	b.advise(o, "report "+oneline.Path(dir), "eval "+oneline.Path(dir), "ui "+parentOf(dir))
	return b.print()
}

// spread returns at most n of the numbers 0 to count-1, evenly, with the ends.
func spread(count, n int) (chosen []int) {
	n = min(n, count)
	return list.Made(n, func(i int) int { return i * (count - 1) / max(1, n-1) })
}
