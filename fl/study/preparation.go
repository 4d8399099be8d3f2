package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// prepare lets a client tuner that asks for it decide about trials of its own,
// on side federations, before the study's first trial. The state in which that
// ends opens the tuner's session about every trial. A report is durable before
// the next side federation is trained.
func (d *driver) prepare(ctx context.Context) (err error) {
	if d.setup.ClientTuner == nil {
		return nil
	}
	c := &d.setup.Config
	desc, err := d.setup.ClientTuner.Describe(ctx)
	if err != nil || !desc.Prepare {
		return err
	}
	session := &decider{
		history: d.history, number: tuners.PrepareSession, name: c.ClientTuner.Name, past: d.history.calls[tuners.PrepareSession],
		open: func(ctx context.Context, state []byte) (tuners.Session, error) {
			return d.setup.ClientTuner.Open(ctx, tuners.OpenRequest{
				Study: c.Name, Space: d.space, Options: d.clientOptions, Budget: d.budget, Objective: tuners.Objective{Metric: c.Objective, Target: tuners.TargetGlobal},
				Seed: c.Seed, Trial: tuners.PrepareSession, State: state,
			})
		},
	}
	defer func() {
		if closeErr := session.Close(context.WithoutCancel(ctx)); err == nil {
			err = closeErr
		}
		if err != nil {
			err = fmt.Errorf("client tuner %s prepares: %w", c.ClientTuner.Name, err)
		}
	}()
	trials := 0
	for {
		decisions, err := session.Suggest(ctx, 1)
		if err != nil {
			return err
		}
		starts := slices.DeleteFunc(slices.Clone(decisions), func(dec tuners.Decision) bool { return dec.Kind != tuners.Start })
		if slices.ContainsFunc(decisions, func(dec tuners.Decision) bool { return dec.Kind == tuners.Done }) {
			if err := session.wake(ctx); err != nil {
				return err
			}
			d.prepared = slices.Clone(session.live.State())
			return nil
		}
		for i, dec := range starts {
			switch {
			case dec.Trial != trials+i:
				return fmt.Errorf("decision to start trial %d: the next trial is %d", dec.Trial, trials+i)
			case dec.Environment == nil:
				return fmt.Errorf("trial %d has no environment", dec.Trial)
			}
			if err := d.ledger.Side(dec); err != nil {
				return err
			}
		}
		if len(starts) == 0 {
			return errors.New("it waits, but no trial is running")
		}
		trials += len(starts)
		if err := d.onSides(ctx, session, starts, trials); err != nil {
			return err
		}
	}
}

// onSides runs the trials of one answer, those that are started one after the
// other in one environment beside each other, and reports them in their order.
func (d *driver) onSides(ctx context.Context, session *decider, starts []tuners.Decision, trials int) error {
	for len(starts) > 0 {
		n := 1
		for n < len(starts) && *starts[n].Environment == *starts[0].Environment {
			n++
		}
		reports, err := d.onSide(ctx, session.reported(n), starts[:n], trials)
		if err != nil {
			return err
		}
		for i, r := range reports {
			if err := session.Report(ctx, r); err != nil {
				return err
			}
			t := SideTrial{Environment: *starts[i].Environment, Params: starts[i].Params, Rounds: r.Round}
			if !r.Unusable() {
				t.Score = &r.Score
			}
			d.sides = append(d.sides, t)
		}
		if err := d.history.flush(); err != nil {
			return err
		}
		starts = starts[n:]
	}
	return nil
}

// reported returns the recorded reports among the next n calls.
func (s *decider) reported(n int) []callRecord {
	var out []callRecord
	for _, c := range s.past[s.calls:min(s.calls+n, len(s.past))] {
		if c.kind != kindReport {
			break
		}
		out = append(out, c)
	}
	return out
}

// onSide runs trials of one environment that are not reported yet.
func (d *driver) onSide(ctx context.Context, past []callRecord, starts []tuners.Decision, trials int) ([]tuners.TrialReport, error) {
	reports := make([]tuners.TrialReport, len(starts))
	for i, c := range past {
		reports[i] = c.report()
	}
	if len(past) == len(starts) {
		return reports, nil
	}
	s, err := d.side(starts[0].Environment)
	if err != nil {
		return nil, err
	}
	defer s.engine.Close()
	errs := make([]error, len(starts))
	var done atomic.Int64
	done.Store(int64(len(d.sides) + len(past)))
	var wg sync.WaitGroup
	slots := make(chan struct{}, s.engine.Workers())
	for i := len(past); i < len(starts); i++ {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			reports[i], errs[i] = s.trial(ctx, starts[i])
			if errs[i] == nil {
				d.setup.Observer.Progress(Progress{
					Preparing: true, Trial: starts[i].Trial, TrialRound: starts[i].ToRound, ToRound: starts[i].ToRound,
					Round: int(done.Add(1)), Rounds: trials, Score: reports[i].Score, Best: math.NaN(), Loss: math.NaN(),
				})
			}
		})
	}
	wg.Wait()
	return reports, firstCause(errs)
}

// side is a side federation at work.
type side struct {
	driver *driver
	engine *fl.Engine
}

// side deals an environment and starts its workers.
func (d *driver) side(e *tuners.Environment) (*side, error) {
	c := &d.setup.Config
	fed, err := d.setup.Data.Side(data.Side{Clients: e.Clients, Samples: e.Samples, HI: e.HI, Test: c.Data.ProxyTest, Seed: e.Seed})
	if err != nil {
		return nil, err
	}
	for _, note := range fed.Notes {
		d.setup.log().Info(note, "hi", e.HI, "samples", e.Samples)
	}
	engine, err := fl.New(fl.Config{Model: d.setup.Model, Data: fed, Method: d.method, Cohort: e.Cohort, Seed: e.Seed, Workers: d.setup.Workers})
	if err != nil {
		return nil, fmt.Errorf("side federation: %w", err)
	}
	return &side{driver: d, engine: engine}, nil
}

// trial trains one on the side federation and scores its global model on the
// proxy samples that no client holds.
func (s *side) trial(ctx context.Context, dec tuners.Decision) (tuners.TrialReport, error) {
	d := s.driver
	failed := func(err error) (tuners.TrialReport, error) {
		return tuners.TrialReport{}, fmt.Errorf("trial %d: %w", dec.Trial, err)
	}
	h, err := d.base.With(dec.Params, d.adds)
	if err != nil {
		return failed(err)
	}
	if err := fl.CheckParams(d.method, h.Client, h.Server); err != nil {
		return failed(err)
	}
	tr := s.engine.NewTrial(dec.Trial)
	for tr.Rounds() < dec.ToRound {
		if _, err := tr.Round(ctx, fl.Plan{Server: h.Server, Clients: []fl.ClientParams{h.Client}}); err != nil {
			return failed(err)
		}
	}
	e, err := s.engine.Evaluate(ctx, tr.Weights(), fl.EvalConfig{})
	if err != nil {
		return failed(err)
	}
	r := tuners.TrialReport{Trial: dec.Trial, Round: dec.ToRound, Score: e.Unseen.Error}
	if d.objective.Metric == tuners.MetricLoss {
		r.Score = e.Unseen.Loss
	}
	return r, nil
}
