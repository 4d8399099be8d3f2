package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/tuners/host"
)

// tuneOptions are the flags of tune.
type tuneOptions struct {
	studyOptions
	baseline int
}

func newTune(a *app) *cobra.Command {
	o := &tuneOptions{}
	cmd := &cobra.Command{
		Use:   "tune [FILE]",
		Short: "Tune a federated training: a study of many trials",
		Long:  "Tune a federated training: the study file FILE or a preset. Without either it runs the preset quickstart.",
		Args:  cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			return o.validate()
		},
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

func (o *tuneOptions) addFlags(cmd *cobra.Command) {
	o.studyOptions.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.tuner, "tuner", "", "the tuner, as tuner.name")
	f.StringVar(&o.clientTuner, "client-tuner", "", "the client tuner, as client_tuner.name; none for none")
	f.IntVar(&o.baseline, "baseline", 0, "afterwards train so many random configurations, each as long as the survivor")
}

func (o *tuneOptions) validate() error {
	if o.baseline < 0 {
		return fmt.Errorf("--baseline %d: must be 0 or more", o.baseline)
	}
	return nil
}

func (o *tuneOptions) run(ctx context.Context, a *app, c *study.Config) (err error) {
	tuner, err := a.launch(ctx, "tuner.name", c.Tuner.Name)
	if err != nil {
		return err
	}
	defer tuner.Close()
	used := []host.Ref{tuner.Ref()}
	var client *host.Plugin
	if c.ClientTuner.Name != "" {
		if client, err = a.launch(ctx, "client_tuner.name", c.ClientTuner.Name); err != nil {
			return err
		}
		defer client.Close()
		used = append(used, client.Ref())
	}
	setup, err := a.prepare(ctx, c)
	if err != nil {
		return err
	}
	setup.Tuner = tuner
	if client != nil {
		setup.ClientTuner = client
	}
	w, err := a.watch(&setup, o.dir, c.Budget.Rounds, used)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	setup.Observer = w
	r, err := study.Tune(ctx, setup)
	if err != nil {
		return err
	}
	w.Display.Close()
	if r.Baseline, err = o.random(ctx, a, setup, r); err != nil {
		return err
	}
	if err := errors.Join(w.Result(r), w.Model(setup.Model, r.Weights())); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	return a.printTune(r, w.Path())
}

// random runs the baseline, if one was asked for.
func (o *tuneOptions) random(ctx context.Context, a *app, setup study.Setup, r *study.Result) (*study.BaselineResult, error) {
	if o.baseline == 0 {
		return nil, nil
	}
	const name = "random"
	tuner, err := a.launch(ctx, "--baseline", name)
	if err != nil {
		return nil, err
	}
	defer tuner.Close()
	rounds := setup.Config.Budget.TrialRounds
	if r.Survivor != nil {
		rounds = r.Survivor.Round
	}
	setup.Tuner, setup.ClientTuner, setup.Config.Tuner.Name = tuner, nil, name
	w := newBaselineWatch(a.err, o.baseline, rounds)
	defer w.Close()
	setup.Observer = w
	return study.Baseline(ctx, setup, o.baseline, rounds)
}
