package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// trial is a trial of a study: a federated training with its params, and the
// client tuner's session about it.
type trial struct {
	driver  *driver
	number  int
	params  tuners.Params
	hyper   hyper
	train   *fl.Trial      // nil when the trial has been stopped
	session tuners.Session // nil without a client tuner, or when stopped
	probes  []string       // what the client tuner's session sees of each slot
	rounds  int
	toRound int // where the tuner has sent it
	dropped int
	rungs   []Rung
	mean    discounted // of the scores since the last rung
	best    candidate  // of the leg at work
}

// candidate is a model that may be returned.
type candidate struct {
	score   float64 // NaN when there is none
	trial   *trial
	round   int
	weights []float32
	state   []byte // of the client tuner's session
}

// discounted is the mean of a series in which an entry of age a weighs
// discount^a.
type discounted struct{ sum, weight float64 }

func (d *discounted) add(x, discount float64) float64 {
	d.sum = float64(d.sum*discount) + x
	d.weight = float64(d.weight*discount) + 1
	return d.sum / d.weight
}

// open starts a trial: fresh weights and, with a client tuner, a session.
func (d *driver) open(ctx context.Context, number int, params tuners.Params) (*trial, error) {
	h, err := d.base.with(params, d.adds)
	if err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	if err := h.check(d.method); err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	t := &trial{driver: d, number: number, params: params, hyper: h, train: d.engine.NewTrial(number)}
	if d.setup.ClientTuner == nil {
		return t, nil
	}
	t.session, err = d.openClientSession(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	t.probes = d.clientProbes
	if p, ok := t.session.(tuners.Prober); ok {
		t.probes = p.Probes()
	}
	t.probes = slices.Concat(t.probes, d.clientScalars)
	return t, nil
}

// openClientSession opens the client tuner's session about a trial, at the
// start or in a recorded state.
func (d *driver) openClientSession(ctx context.Context, t *trial, state []byte) (tuners.Session, error) {
	s, err := d.setup.ClientTuner.Open(ctx, tuners.OpenRequest{
		Study: d.setup.Config.Name, Space: d.space, Options: d.clientOptions, Budget: d.budget, Objective: d.objective,
		Seed: d.setup.Config.Seed, Trial: t.number, Params: t.params, State: state,
	})
	if err != nil {
		return nil, fmt.Errorf("client tuner: trial %d: %w", t.number, err)
	}
	return s, nil
}

// leg runs the trial on to a round and closes a rung there. The best model of
// the leg that beats floor is kept in t.best.
func (t *trial) leg(ctx context.Context, toRound int, floor float64, emit func(Event)) error {
	d := t.driver
	t.best = candidate{score: math.NaN(), trial: t, weights: d.buffer()}
	var score float64
	for t.rounds < toRound {
		r, err := t.round(ctx)
		if err != nil {
			return err
		}
		score = d.scoreOf(r)
		if math.IsNaN(score) {
			return fmt.Errorf("trial %d, round %d: no client of the cohort has validation examples, so there is no score; enlarge the cohort or change data.split", t.number, t.rounds)
		}
		score = t.mean.add(score, d.setup.Config.Score.Discount)
		if d.objective.Better(score, floor) && d.objective.Better(score, t.best.score) {
			t.keep(score)
		}
		emit(t.event(r, score))
		d.roundDone(t, toRound, r, score)
	}
	t.rungs = append(t.rungs, Rung{Round: t.rounds, Score: score})
	t.mean = discounted{}
	emit(Event{Event: "rung", Trial: t.number, Round: t.rounds, Score: &score})
	return nil
}

// keep takes the trial as it is for its leg's best.
func (t *trial) keep(score float64) {
	t.best.score, t.best.round = score, t.rounds
	t.best.weights = append(t.best.weights[:0], t.train.Weights()...)
	if t.session != nil {
		t.best.state = slices.Clone(t.session.State())
	}
}

// round plans, runs and observes one round. ctx is looked at only before: a
// round that has begun ends.
func (t *trial) round(ctx context.Context) (*fl.RoundResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	d := t.driver
	plan := fl.Plan{Server: t.hyper.server, Clients: []fl.ClientParams{t.hyper.client}, Probes: d.scoreProbes}
	if t.session != nil {
		p, err := t.session.PlanRound(ctx, tuners.PlanRequest{Trial: t.number, Round: t.rounds, Slots: d.setup.Config.Cohort})
		if err != nil {
			return nil, fmt.Errorf("client tuner: %w", err)
		}
		if plan, err = t.merge(p, d.setup.Config.Cohort); err != nil {
			return nil, err
		}
		plan.Probes = slices.Concat(d.scoreProbes, t.probes)
	}
	r, err := t.train.Round(ctx, plan)
	if err != nil {
		return nil, err
	}
	if t.session != nil {
		if err := t.session.ObserveRound(ctx, t.observation(r)); err != nil {
			return nil, fmt.Errorf("client tuner: %w", err)
		}
	}
	t.rounds++
	t.dropped += r.Dropped
	return r, nil
}

// merge lays a client tuner's plan over the trial's own hyperparameters.
func (t *trial) merge(p tuners.Plan, slots int) (fl.Plan, error) {
	d := t.driver
	if n := len(p.Clients); n != 0 && n != 1 && n != slots {
		return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: the plan holds %d client configurations: must be 1 or %d", t.number, t.rounds, n, slots)
	}
	base, err := t.hyper.with(p.Server, d.adds)
	if err != nil {
		return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: %w", t.number, t.rounds, err)
	}
	plan := fl.Plan{Server: base.server}
	for _, c := range p.Clients {
		h, err := base.with(c, d.adds)
		if err != nil {
			return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: %w", t.number, t.rounds, err)
		}
		plan.Clients = append(plan.Clients, h.client)
	}
	if len(plan.Clients) == 0 {
		plan.Clients = []fl.ClientParams{base.client}
	}
	return plan, nil
}

// observation tells the client tuner what its probes measured.
func (t *trial) observation(r *fl.RoundResult) tuners.Observation {
	o := tuners.Observation{Trial: t.number, Round: r.Round, Slots: make([]tuners.Slot, len(r.Slots)), Aggregates: map[string]float64{"train_loss": r.TrainLoss}}
	for i := range r.Slots {
		probes := make(map[string]float64, len(t.probes))
		for _, name := range t.probes {
			probes[name], _ = r.Slots[i].Probe(name)
		}
		o.Slots[i].Probes = probes
	}
	return o
}

func (t *trial) event(r *fl.RoundResult, score float64) Event {
	e := Event{Event: "round", Trial: t.number, Round: t.rounds, Score: &score, TrainLoss: &r.TrainLoss, Steps: r.Steps, Examples: r.Examples, Dropped: r.Dropped}
	for i := range r.Slots {
		e.Clients = append(e.Clients, t.driver.setup.Data.Clients[r.Slots[i].Client].ID)
	}
	return e
}

// testPlan returns the hyperparameters with which every client trains before
// its personalized model is measured.
func (t *trial) testPlan(ctx context.Context, session tuners.Session, round int) ([]fl.ClientParams, error) {
	if session == nil {
		return []fl.ClientParams{t.hyper.client}, nil
	}
	slots := len(t.driver.setup.Data.Clients)
	p, err := session.PlanRound(ctx, tuners.PlanRequest{Trial: t.number, Round: round, Slots: slots, Purpose: tuners.Test})
	if err != nil {
		return nil, fmt.Errorf("client tuner: test of trial %d: %w", t.number, err)
	}
	plan, err := t.merge(p, slots)
	return plan.Clients, err
}

// stop frees what only further rounds need.
func (t *trial) stop(ctx context.Context) error {
	t.train = nil
	if t.session == nil {
		return nil
	}
	err := t.session.Close(ctx)
	t.session = nil
	return err
}

// result is the trial's row of the study's result.
func (t *trial) result() TrialResult {
	r := TrialResult{Number: t.number, Params: t.params, Rounds: t.rounds, Rungs: t.rungs, Dropped: t.dropped}
	if n := len(t.rungs); n > 0 {
		r.Score = t.rungs[n-1].Score
	}
	return r
}
