package bench

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// The suite tuner asks FedEx, in a process of its own, to plan rounds and tells it
// how they went.
const (
	tunerName  = "fedex"
	tunerSlots = 10 // clients of a round

	tunerRounds, quickRounds = 2000, 50
	tunerLaunches            = 9
)

// tunerRows lists the launch of a tuner and the two calls of a round.
func tunerRows(_ context.Context, cfg Config) ([]row, error) {
	paths := cfg.Tuners
	if len(paths.Serve) == 0 {
		var err error
		if paths, err = host.DefaultPaths(slices.Collect(maps.Keys(plugins.Builtin()))); err != nil {
			return nil, err
		}
	}
	launches, rounds := tunerLaunches, tunerRounds
	if cfg.Quick {
		launches, rounds = 2, quickRounds
	}
	return []row{
		{name: "launch", shape: tunerName, run: func(ctx context.Context, _ *meter) ([]Result, error) { return timeLaunches(ctx, paths, launches) }},
		{name: "round", shape: fmt.Sprintf("%s,slots=%d", tunerName, tunerSlots), run: func(ctx context.Context, _ *meter) ([]Result, error) {
			return timeRounds(ctx, paths, rounds)
		}},
	}, nil
}

// launch finds and starts the tuner.
func launch(ctx context.Context, paths host.Paths) (*host.Plugin, error) {
	ref, err := host.Find(tunerName, paths)
	if err != nil {
		return nil, err
	}
	return host.Launch(ctx, ref, host.Options{Logger: slog.New(slog.DiscardHandler)})
}

// timeLaunches times how long a tuner takes from its start to its description.
func timeLaunches(ctx context.Context, paths host.Paths, n int) ([]Result, error) {
	var seconds []float64
	for range n {
		start := time.Now()
		p, err := launch(ctx, paths)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		p.Close()
	}
	return []Result{callResult("launch", tunerName, seconds)}, nil
}

// timeRounds times the calls before and after each round of a trial.
func timeRounds(ctx context.Context, paths host.Paths, n int) ([]Result, error) {
	p, err := launch(ctx, paths)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	session, err := openTrial(ctx, p, n)
	if err != nil {
		return nil, err
	}
	var plans, observations []float64
	const warm = 10
	for round := range n + warm {
		start := time.Now()
		plan, err := session.PlanRound(ctx, tuners.PlanRequest{Round: round, Slots: tunerSlots})
		if err != nil {
			return nil, err
		}
		planned := time.Now()
		seen := observation(plan, round)
		told := time.Now()
		if err := session.ObserveRound(ctx, seen); err != nil {
			return nil, err
		}
		if round >= warm {
			plans = append(plans, planned.Sub(start).Seconds())
			observations = append(observations, time.Since(told).Seconds())
		}
	}
	shape := fmt.Sprintf("%s,slots=%d", tunerName, tunerSlots)
	return []Result{callResult("plan-round", shape, plans), callResult("observe-round", shape, observations)}, session.Close(ctx)
}

// openTrial opens the session of one trial of a study of n rounds.
func openTrial(ctx context.Context, p *host.Plugin, n int) (tuners.Session, error) {
	var space tuners.Space
	for _, dim := range []struct {
		name string
		spec map[string]any
	}{
		{"client.batch", map[string]any{"log2": []any{int64(3), int64(7)}}},
		{"client.epochs", map[string]any{"int": []any{int64(1), int64(5)}}},
		{"client.lr", map[string]any{"log10": []any{int64(-4), int64(0)}}},
		{"client.momentum", map[string]any{"uniform": []any{int64(0), int64(1)}}},
	} {
		d, err := tuners.ParseDim(dim.name, dim.spec)
		if err != nil {
			return nil, err
		}
		space = append(space, d)
	}
	about, err := p.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return p.Open(ctx, tuners.OpenRequest{
		Study: "bench", Space: append(space, about.Adds...), Budget: tuners.Budget{Rounds: n, TrialRounds: n},
		Objective: tuners.Objective{Metric: tuners.MetricError, Target: tuners.TargetPersonalized}, Seed: 1,
		Params: tuners.Params{
			"client.batch": tuners.Num(32), "client.epochs": tuners.Num(3), "client.lr": tuners.Num(0.01), "client.momentum": tuners.Num(0.5),
			fedex.Gamma: tuners.Num(0.5),
		},
	})
}

// observation is a round in which every client ended a little better than it began.
func observation(plan tuners.Plan, round int) tuners.Observation {
	o := tuners.Observation{Round: round, Slots: make([]tuners.Slot, tunerSlots)}
	for i := range o.Slots {
		at := 0.9 - 0.001*float64((7*round+i)%100)
		lr := plan.Client(i).Float("client.lr", 0)
		o.Slots[i].Probes = map[string]float64{
			"val_error_before": at, "val_error_after": at - 0.01*lr, "val_loss_before": 3 * at, "val_loss_after": 3*at - 0.01, "examples_val": 20,
		}
	}
	return o
}

// callResult returns the result of a call from the seconds that each repetition took.
func callResult(name, shape string, seconds []float64) Result {
	x := newResult(row{name: name, shape: shape}, nn.FP32, seconds)
	x.Precision, x.P99 = "", quantile(seconds, 0.99)
	return x
}
