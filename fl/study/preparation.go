package study

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/tuners"
)

// prepare lets a client tuner that asks for it decide about trials of its own,
// on proxy federations, before the study's first trial. The state in which that
// ends opens the tuner's session about every trial. A report is durable before
// the next proxy federation is trained.
func (d *driver) prepare(ctx context.Context) (err error) {
	if d.setup.ClientTuner == nil {
		return nil
	}
	c := &d.setup.Config
	desc, err := d.setup.ClientTuner.Describe(ctx)
	if err != nil || !desc.Prepare {
		return err
	}
	session := d.decider(c.ClientTuner.Name, d.setup.ClientTuner, desc, tuners.OpenRequest{
		Study: c.Name, Space: d.space, Options: d.clientOptions, Budget: d.budget, Objective: d.sideObjective(),
		Seed: c.Seed, Trial: tuners.PrepareSession,
	})
	defer func() {
		if closeErr := session.Close(context.WithoutCancel(ctx)); err == nil {
			err = closeErr
		}
		if err != nil {
			err = fmt.Errorf("client tuner %s prepares: %w", c.ClientTuner.Name, err)
		}
	}()
	p := &preparer{driver: d, starts: map[int]tuners.Decision{}, past: session.reports()}
	p.free = sync.NewCond(&p.mu)
	defer p.leave()
	if _, err := (play.Study{Session: session, Runner: p, Book: session.book(), Lanes: d.engine.Workers()}).Play(ctx); err != nil {
		return err
	}
	if err := session.wake(ctx); err != nil {
		return err
	}
	d.prepared = slices.Clone(session.live.State())
	return nil
}

// sideObjective is that of trials on proxy federations, which is always minimized:
// the error instead of the accuracy.
func (d *driver) sideObjective() tuners.Objective {
	o := tuners.ObjectiveOf(d.objective.Metric, tuners.TargetGlobal)
	if o.Direction == tuners.Maximize {
		o = tuners.ObjectiveOf(tuners.MetricError, tuners.TargetGlobal)
	}
	return o
}

// reports returns the recorded reports by trial, of a session in which a trial
// reports once.
func (s *decider) reports() map[int]tuners.TrialReport {
	out := map[int]tuners.TrialReport{}
	for i := range s.past {
		if c := &s.past[i]; c.kind == KindReport {
			out[*c.Trial] = c.report()
		}
	}
	return out
}

// side is a proxy federation at work.
type side struct {
	driver      *driver
	environment tuners.Environment
	engine      *fl.Engine
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
	engine, err := fl.New(fl.Config{
		Model: d.setup.Model, Data: fed, Method: d.method, Cohort: e.Cohort, Seed: e.Seed, Workers: d.setup.Workers, Server: &c.Server,
		KeepOptimizer: c.KeepsOptimizer(), Adam: c.MayAdapt(),
	})
	if err != nil {
		return nil, fmt.Errorf("proxy federation: %w", err)
	}
	return &side{driver: d, environment: *e, engine: engine}, nil
}

// trial trains one on the proxy federation and scores its global model on the
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
	if err := d.method.CheckParams(h.Client, h.Server); err != nil {
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
	r := tuners.TrialReport{Trial: dec.Trial, Round: dec.ToRound, Score: e.Unseen.Metric(d.sideObjective().Metric)}
	return r, nil
}
