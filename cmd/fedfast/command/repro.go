package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
)

// reproOptions are the flags of repro.
type reproOptions struct {
	repro.Options
	reportOptions
	out   string
	shard repro.Shard
	keep  bool
	pack  bool
	site  site
}

func newRepro(a *app) *cobra.Command {
	o := &reproOptions{}
	cmd := &cobra.Command{
		Use: "repro NAME",
		ValidArgsFunction: completeFirst(func() []string {
			return list.Of(repro.Cells(), func(c repro.Cell) string { return c.Name })
		}),
		Short: "Reproduce an experiment of a paper and compare with the published numbers",
		Args:  cobra.MatchAll(cobra.ExactArgs(1)),
		PreRunE: func(*cobra.Command, []string) error {
			if err := cmp.Or(o.settle(), o.site.validate(false)); err != nil {
				return err
			}
			if err := outfile.Dir(o.out); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			return o.writable()
		},
		RunE: a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0]) }),
	}
	o.addPlanFlags(cmd)
	f := cmd.Flags()
	f.Var(&o.shard, "shard", "run one part of the work: 2/5 is the second of five")
	f.IntSliceVar(&o.Only, "only", nil, "run only these seeds, such as 3 or 2,5,7")
	f.StringVar(&o.out, "out", "repro", "write studies and metrics to `DIR`")
	f.BoolVar(&o.pack, "pack", false, "also write each seed's study beside its metrics, as one file for fedfast verify")
	f.BoolVar(&o.keep, "keep-studies", false, "keep finished studies and their models, not only metrics")
	o.site.addFlags(cmd, "--out")
	o.addFlags(cmd)
	cmd.AddCommand(newReproList(a), newReproMerge(a))
	return cmd
}

// addPlanFlags adds the flags that say what is trained.
func (o *reproOptions) addPlanFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Data, "data", "", "read data from `DIR`: one dataset, or several in subdirectories (env FEDFAST_DATA)")
	f.Float64Var(&o.Scale, "scale", 1, "multiply rounds, clients or samples by `FACTOR` (0 < FACTOR <= 1); results are marked as scaled")
	f.IntVar(&o.Seeds, "seeds", 0, "number of seeds (default: as in the paper)")
	f.StringArrayVar(&o.Sets, "set", nil, "set `KEY=VALUE` in all studies, such as cohort=5 (repeatable); the report lists it as a deviation")
	f.BoolVar(&o.AsPaper, "as-paper", false, "follow the paper's text where it differs from the authors' code")
}

// settle takes what is not given from the environment, and checks the flags of a plan.
func (o *reproOptions) settle() error {
	o.Data = cmp.Or(o.Data, os.Getenv("FEDFAST_DATA"))
	switch {
	case !(o.Scale > 0 && o.Scale <= 1):
		return fmt.Errorf("--scale %v: must be greater than 0 and at most 1", o.Scale)
	case o.Seeds < 0:
		return fmt.Errorf("--seeds %d: must be a positive integer, or 0 for as many as in the paper", o.Seeds)
	}
	return nil
}

// run runs the jobs of a name that are not done and prints the report of all that
// are.
func (o *reproOptions) run(ctx context.Context, a *app, name string) error {
	cells, err := repro.Select(name)
	if err != nil {
		return usageError{err}
	}
	if a.seedGiven {
		return usageError{errors.New("--seed: experiments always use seeds 1, 2, ...; set their number with --seeds")}
	}
	jobs, left, err := repro.Plan(ctx, cells, o.Options, o.out)
	if err != nil {
		return usageError{err}
	}
	if len(left) > 0 {
		fmt.Fprintf(a.err, "skipped, data not found: %s\n", strings.Join(left, ", "))
	}
	var done []*repro.Metrics
	mine := list.Count(jobs, func(j *repro.Job) bool { return j.In(o.shard) })
	found, err := finished(ctx, jobs)
	if err != nil {
		return err
	}
	if o.site.address != "" {
		if err := o.runShared(ctx, a, jobs, found); err != nil {
			return err
		}
	}
	at := 0
	var first error
	for i, j := range jobs {
		m := found[i]
		if j.In(o.shard) {
			at++
			if m == nil {
				fmt.Fprintf(a.err, "%d of %d: %s, seed %d\n", at, mine, j.Training.Key, j.Seed)
				if m, err = a.reproduce(ctx, j); err != nil {
					err = fmt.Errorf("%s, seed %d: %w", j.Training.Key, j.Seed, err)
					if first = cmp.Or(first, err); ctx.Err() != nil || !j.Training.Board {
						return err
					}
					fmt.Fprintln(a.err, err) // the board goes on with other methods
					continue
				}
				if err := o.tidy(ctx, j, jobs); err != nil {
					return err
				}
			} else if o.pack {
				fmt.Fprintf(a.err, "%s, seed %d: has metrics already and is not packed again\n", j.Training.Key, j.Seed)
			}
		}
		if m != nil {
			done = append(done, m)
		}
	}
	report, err := repro.NewReport(cells, done)
	if err != nil {
		return cmp.Or(first, err)
	}
	return cmp.Or(o.show(a, report), first)
}

// runShared runs the jobs of the shard that are not done with the workers of a
// cluster, and fills in what is found of them.
func (o *reproOptions) runShared(ctx context.Context, a *app, jobs []*repro.Job, found []*repro.Metrics) error {
	var left []*repro.Job
	at := map[*repro.Job]int{}
	for i, j := range jobs {
		if j.In(o.shard) && found[i] == nil {
			left, at[j] = append(left, j), i
		}
	}
	if len(left) == 0 {
		return nil
	}
	return o.site.run(ctx, a, o.out, left, func(j *repro.Job, m *repro.Metrics) error {
		found[at[j]] = m
		return o.tidy(ctx, j, jobs)
	})
}

// finished returns the metrics of the jobs, nil for those that are not done. When
// the data are others now than the first finished seed of a training ran on, it is an
// error: new seeds would be mixed with it.
func finished(ctx context.Context, jobs []*repro.Job) ([]*repro.Metrics, error) {
	found := make([]*repro.Metrics, len(jobs))
	checked := map[string]bool{}            // trainings
	atHand := map[string]*data.Federation{} // by configuration; many trainings share one
	for i, j := range jobs {
		m, err := j.Done()
		if err != nil {
			return nil, err
		}
		found[i] = m
		if m == nil || checked[j.Training.Key] || m.Head.Data.Fingerprint == "" {
			continue
		}
		checked[j.Training.Key] = true
		key := fmt.Sprintf("%+v, seed %d", j.Config.Data, j.Config.Seed)
		if atHand[key] == nil {
			fed, err := config.OpenData(ctx, j.Config)
			if err != nil {
				return nil, err
			}
			if err := fed.Close(); err != nil {
				return nil, err
			}
			atHand[key] = fed
		}
		if err := m.RanOn(atHand[key]); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// tidy packs the study of a job that has ended, where asked for, and deletes studies that are not needed any more.
func (o *reproOptions) tidy(ctx context.Context, j *repro.Job, jobs []*repro.Job) error {
	if o.pack {
		s, err := openWhole(ctx, j.Study)
		if err != nil {
			return err
		}
		_, err = s.Pack(ctx, strings.TrimSuffix(j.File, ".jsonl")+packEnd, nil)
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
	}
	if o.keep {
		return nil
	}
	return repro.Tidy(jobs)
}

// reproduce runs a job as `fedfast tune` or `fedfast run` runs its study.
func (a *app) reproduce(ctx context.Context, j *repro.Job) (*repro.Metrics, error) {
	work, end := (&opened{}).work(a, j.Training.Mode, 0)
	defer end()
	work.Launcher = a.launcher(true)
	m, err := j.Run(ctx, work)
	if ctx.Err() != nil && err != nil {
		return nil, errors.New("interrupted; run the same command again to resume")
	}
	return m, err
}
