package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// tuneOptions are the flags of tune.
type tuneOptions struct {
	studyOptions
	cluster          clusterFlag
	ui               uiFlag
	allowTunerChange bool
	table, next      string
}

func newTune(a *app) *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:               "tune [FILE]",
		ValidArgsFunction: completeFile,
		Short:             "Tune hyperparameters in a study of many trials",
		Args:              cobra.MaximumNArgs(1),
		PreRunE:           func(*cobra.Command, []string) error { return o.validate() },
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			if err := o.follow(cmd.Context(), args, "--next", o.next, a.nextOf); err != nil {
				return err
			}
			if o.table != "" {
				if len(args) > 0 {
					return usageError{errors.New("--table: the table says what was trained; leave out the study file")}
				}
				return o.playTable(cmd.Context(), a)
			}
			if o.estimate {
				return o.printEstimate(cmd.Context(), a, args, config.ModeTune, o.baseline.random)
			}
			if o.seeds > 0 {
				return o.tuneSeeds(cmd.Context(), a, args)
			}
			s, err := o.open(cmd.Context(), a, args, config.ModeTune)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, s)
		}),
	}
	o.addFlags(cmd)
	a.verboseFlag(cmd)
	return cmd
}

func (o *tuneOptions) addFlags(cmd *cobra.Command) {
	o.studyOptions.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tuner, "tuner", "", "use the tuner `NAME` (see fedfast list tuners)")
	f.StringVar(&o.clientTuner, "client-tuner", "", "use the client tuner `NAME`; \"none\" disables it")
	f.StringVar(&o.table, "table", "", "train nothing, but replay the tuner on the recorded table `FILE` (see fedfast table record) or on the built-in one, example")
	f.StringVar(&o.next, "next", "", "tune the finished study `STUDY` once more, with what its advice changes")
	cmd.MarkFlagsMutuallyExclusive("next", "preset")
	o.addTuneFlags(cmd)
	for _, other := range []string{"preset", "next", "init", "study", "scale", "estimate", "seeds", "cluster", "ui", "baseline", "allow-tuner-change"} {
		cmd.MarkFlagsMutuallyExclusive("table", other)
	}
}

// addTuneFlags adds the flags that do not belong to the configuration.
func (o *tuneOptions) addTuneFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	o.cluster.addFlags(f)
	o.ui.addFlags(f)
	f.BoolVar(&o.allowTunerChange, "allow-tuner-change", false, "resume a study even if its tuner binary has changed")
	f.Var(&o.baseline, "baseline", "then also train what is in `LIST`, to compare: local (each client alone), pooled (all samples together), "+
		"random=N (N random configurations; random=equal: as many as the study's rounds allow)")
}

func (o *tuneOptions) validate() error { return o.alone(o.seeds > 0) }

// alone checks the flags that are for one study.
func (o *tuneOptions) alone(seeds bool) error {
	return errors.Join(o.cluster.validate(seeds), o.ui.validate(seeds))
}

// run resumes a study, or prints the stored result of a finished one.
func (o *tuneOptions) run(ctx context.Context, a *app, s *opened) error {
	r, err := o.finish(ctx, a, s)
	return s.show(a, r, err, func() error { return a.printTune(s.Config, r, s.Path()) })
}

// tuneSeeds resumes the studies of several seeds.
func (o *tuneOptions) tuneSeeds(ctx context.Context, a *app, args []string) error {
	return o.trainSeeds(ctx, a, args, config.ModeTune, func(inner studyOptions, one *opened) error {
		each := *o
		each.studyOptions = inner
		_, err := each.finish(ctx, a, one)
		return err
	})
}

// finish brings a study to its end, unless it is there, and gives its directory
// back.
func (o *tuneOptions) finish(ctx context.Context, a *app, s *opened) (r *result.Result, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	if r := s.Finished(o.baseline.random); r != nil {
		return r, nil
	}
	work, end := s.work(a, config.ModeTune, o.baseline.random)
	o.cluster.open(a, &work, config.ModeTune)
	o.ui.open(a, s.Path, &work)
	work.Launcher = a.launcher(o.allowTunerChange)
	work.Launched = func(ctx context.Context, tuner, client workdir.Tuner) error {
		return o.scale.enough(ctx, a, s, tuner, client)
	}
	work.Trained = func(context.Context, *study.Setup, *result.Result) error {
		end()
		o.cluster.close(true)
		return nil
	}
	var watch baselineWatch
	work.Comparing = func(n, rounds int) study.Observer {
		watch = newBaselineWatch(a.err, n, rounds)
		return watch
	}
	r, err = s.Tune(ctx, work)
	end()
	if watch.Display != nil {
		watch.Close()
	}
	o.ui.close()
	o.cluster.finish(ctx, s, err)
	return r, interrupted(ctx, s.places.Explain(err), o.resumable(s))
}

// show prints the end of a study in the form that was asked for.
func (s *opened) show(a *app, r any, err error, print func() error) error {
	if err == nil && a.json {
		return a.printJSON(r)
	}
	if err == nil {
		err = s.printScaled(a.out)
	}
	if err != nil {
		return err
	}
	return print()
}
