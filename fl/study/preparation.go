package study

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
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
	session := d.past.NewTuner(c.ClientTuner.Name, d.setup.ClientTuner, desc, tuners.OpenRequest{
		Study: c.Name, Space: d.space, Options: d.study.Client.Request.Options, Budget: d.budget, Objective: d.sideObjective(),
		Seed: c.Seed, Trial: tuners.PrepareSession,
	})
	defer func() {
		session.Close()
		if err != nil {
			err = fmt.Errorf("client tuner %s prepares: %w", c.ClientTuner.Name, err)
		}
	}()
	work, err := tuners.WorkOf(ctx, d.setup.ClientTuner, d.request(d.study.Client.Request.Options))
	if err != nil {
		return err
	}
	p := &preparer{driver: d, most: work.Trials, starts: map[int]tuners.Decision{}, past: session.Reports()}
	p.free = sync.NewCond(&p.mu)
	defer p.leave()
	if _, err := (play.Study{Session: session, Runner: p, Book: session.Book(), Lanes: d.engine.Workers()}).Play(ctx); err != nil {
		return err
	}
	d.study.Client.Prepared, err = session.State(ctx)
	return err
}

// sideObjective is the objective of trials on proxy federations: the study's, of the global model, and in
// place of a time to a goal the error, which has the same direction.
func (d *driver) sideObjective() tuners.Objective {
	metric := d.objective.Metric
	if d.setup.Config.ToGoal() {
		metric = tuners.MetricError
	}
	return tuners.ObjectiveOf(metric, tuners.TargetGlobal)
}

// preparer runs the trials of a preparation: those of one proxy federation in
// parallel, one proxy federation after the other.
type preparer struct {
	driver *driver
	most   int // trials that there can be, as the tuner says
	past   map[int]tuners.TrialReport

	mu     sync.Mutex // guards what follows
	starts map[int]tuners.Decision
	free   *sync.Cond // a trial has left the proxy federation at work
	at     *side      // nil for none
	users  int        // trials on it
	done   int        // trials in all
}

// Act takes note of a trial.
func (p *preparer) Act(_ context.Context, dec tuners.Decision) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if dec.Kind == tuners.Start {
		p.starts[dec.Trial] = dec
	}
	return nil
}

// Run trains a trial on its proxy federation, unless it is recorded what came of
// it.
func (p *preparer) Run(ctx context.Context, s play.Segment, _ func(int)) (tuners.TrialReport, error) {
	was, recorded := p.past[s.Trial]
	dec, at, err := p.enter(s.Trial, recorded && !p.driver.setup.again)
	if err != nil || at == nil {
		return was, err
	}
	r, err := at.trial(ctx, dec)
	if recorded && err == nil {
		err = sameReport(was, r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users--
	p.free.Broadcast()
	if err != nil {
		return r, err
	}
	p.done++
	p.driver.setup.Observer.Progress(Progress{
		Preparing: true, Trial: dec.Trial, TrialRound: dec.ToRound, ToRound: dec.ToRound,
		Round: p.done, Rounds: max(p.most, len(p.starts)), Score: r.Score, Best: result.Standing{Score: math.NaN()}, Loss: math.NaN(),
	})
	return r, nil
}

// enter returns the decision to start a trial and its proxy federation, once no
// other one is at work. A trial that is recorded needs none.
func (p *preparer) enter(trial int, recorded bool) (tuners.Decision, *side, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dec := p.starts[trial]
	if recorded {
		p.done++
		return dec, nil, nil
	}
	clients := sideClients(dec)
	for p.at != nil && !p.at.serves(dec, clients) && p.users > 0 {
		p.free.Wait()
	}
	if p.at == nil || !p.at.serves(dec, clients) {
		p.leave()
		at, err := p.driver.side(dec.Environment, clients)
		if err != nil {
			return dec, nil, err
		}
		p.at = at
	}
	p.users++
	return dec, p.at, nil
}

// leave ends the workers of the proxy federation at work.
func (p *preparer) leave() {
	if p.at != nil {
		p.at.engine.Close()
		p.at = nil
	}
}

// Reporting keeps what a trial came to.
func (p *preparer) Reporting(_ context.Context, r tuners.TrialReport) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	dec := p.starts[r.Trial]
	t := result.ProxyTrial{Environment: *dec.Environment, Params: dec.Params, Table: dec.Table, Rounds: r.Round}
	if !r.Unusable() {
		t.Score = &r.Score
	}
	p.driver.sides = append(p.driver.sides, t)
	return nil
}

// side is a proxy federation at work.
type side struct {
	driver      *driver
	environment tuners.Environment
	clients     []data.SideClient
	engine      *fl.Engine
}

// serves says whether a trial with these clients runs on this proxy federation.
func (s *side) serves(dec tuners.Decision, clients []data.SideClient) bool {
	return s.environment == *dec.Environment && slices.Equal(s.clients, clients)
}

// sideClients returns the clients of a trial's proxy federation.
func sideClients(dec tuners.Decision) []data.SideClient {
	e := dec.Environment
	if len(dec.Table) == 0 {
		return slices.Repeat([]data.SideClient{{Samples: e.Samples, HI: e.HI}}, e.Clients)
	}
	return list.Of(dec.Table, func(c tuners.Cell) data.SideClient {
		return data.SideClient{Samples: int(c.Keys[tuners.KeySamples]), HI: c.Keys[tuners.KeyHI]}
	})
}

// side deals the proxy federation of an environment with these clients and starts its
// workers.
func (d *driver) side(e *tuners.Environment, clients []data.SideClient) (*side, error) {
	c := &d.setup.Config
	fed, err := d.setup.Data.Side(data.Side{Clients: clients, Test: c.Data.ProxyTest, Seed: e.Seed})
	if err != nil {
		return nil, err
	}
	for _, note := range fed.Notes {
		d.setup.Log.Info(note, "hi", e.HI, "samples", e.Samples)
	}
	engine, err := fl.New(fl.Config{
		Model: d.setup.Model, Data: fed, Method: d.study.Hyper.Method, Cohort: e.Cohort, Seed: e.Seed, Workers: d.setup.Workers, Server: &c.Server,
		Statistics: c.Norm.Statistics, Batch: c.LargestBatch(),
		KeepOptimizer: c.KeepsOptimizer(), Adam: c.MayAdapt(),
	})
	if err != nil {
		return nil, fmt.Errorf("proxy federation: %w", err)
	}
	return &side{driver: d, environment: *e, clients: clients, engine: engine}, nil
}

// trial trains one on the proxy federation and scores its global model on the
// proxy samples that no client holds.
func (s *side) trial(ctx context.Context, dec tuners.Decision) (tuners.TrialReport, error) {
	d := s.driver
	failed := func(err error) (tuners.TrialReport, error) {
		return tuners.TrialReport{}, fmt.Errorf("trial %d: %w", dec.Trial, err)
	}
	plan, err := d.sidePlan(dec)
	if err != nil {
		return failed(err)
	}
	tr := s.engine.NewTrial(dec.Trial)
	for tr.Rounds() < dec.ToRound {
		if _, err := tr.Round(ctx, plan); err != nil {
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

// sidePlan returns how the clients of a proxy federation train in every round of a trial:
// all alike, or each as its cell of the trial's table, which it looks up.
func (d *driver) sidePlan(dec tuners.Decision) (fl.Plan, error) {
	with := func(p tuners.Params) (hyper.Values, error) {
		h, err := d.study.Hyper.Base.With(p, d.study.Hyper.Adds)
		if err == nil {
			err = d.study.Hyper.Method.CheckParams(h.Client, h.Server)
		}
		return h, err
	}
	h, err := with(dec.Params)
	if err != nil || len(dec.Table) == 0 {
		return fl.Plan{Server: h.Server, Clients: []fl.ClientParams{h.Client}}, err
	}
	plan := fl.Plan{Server: h.Server}
	for _, c := range dec.Table {
		h, err := with(c.Params)
		if err != nil {
			return plan, err
		}
		plan.Table = append(plan.Table, hyper.Cell{HI: c.Keys[tuners.KeyHI], Samples: c.Keys[tuners.KeySamples], Params: h.Client})
	}
	return plan, nil
}
