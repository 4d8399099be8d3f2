package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/table"
	"github.com/fedfast/fedfast/fl/study"
)

// runOptions are the flags of run.
type runOptions struct{ studyOptions }

func newRun(a *app) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Train a federation once, without tuning",
		Long: "Train a federation once, without tuning: the study file FILE or a preset, with the hyperparameters of [client] and\n" +
			"[server]. Without either it trains the preset quickstart.",
		Args: cobra.MaximumNArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			c, err := o.loadChecked(a, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, c)
		}),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runOptions) run(ctx context.Context, a *app, c *study.Config) (err error) {
	setup, err := a.prepare(ctx, c)
	if err != nil {
		return err
	}
	w, err := a.watch(&setup, o.dir, c.Rounds, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	setup.Observer = w
	r, err := study.Run(ctx, setup)
	if err != nil {
		return err
	}
	w.Display.Close()
	if err := errors.Join(w.Result(r), w.Model(setup.Model, r.Weights())); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	return a.printRun(r, w.Path())
}

// shownRounds is how many rounds the table of a run shows at most.
const shownRounds = 10

// printRun prints the end of a run.
func (a *app) printRun(r *study.RunResult, dir string) error {
	t := table.New(a.out, "round", "train loss")
	for _, i := range spread(len(r.TrainLoss), shownRounds) {
		t.Row(strconv.Itoa(i+1), fmt.Sprintf("%.4f", r.TrainLoss[i]))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := printErrors(a.out, measured{"trained", r.Errors}); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t = table.New(a.out)
	t.Row("rounds", table.Count(r.Rounds))
	if r.Dropped > 0 {
		t.Row("dropped", fmt.Sprintf("%s results of clients that were not finite", table.Count(r.Dropped)))
	}
	timing(t, r.Seconds, r.RoundsPerSecond)
	t.Row("weights_sha256", r.WeightsSHA256)
	t.Row("study", dir)
	return t.Flush()
}

// spread returns at most n of the numbers 0 to count-1, evenly, with the ends.
func spread(count, n int) []int {
	if count <= n {
		n = count
	}
	var chosen []int
	for i := range n {
		if n == 1 {
			return []int{0}
		}
		chosen = append(chosen, i*(count-1)/(n-1))
	}
	return chosen
}

func timing(t *table.Table, seconds, rate float64) {
	t.Row("seconds", fmt.Sprintf("%.1f", seconds))
	t.Row("rounds a second", fmt.Sprintf("%.2f", rate))
}
