package study

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/tuners"
)

// plan returns the plan of the next round: the recorded one, or what the client
// tuner says.
func (t *trial) plan(ctx context.Context) (fl.Plan, error) {
	if t.session == nil {
		return t.own(), nil
	}
	data, err := t.recordedPlan(ctx, t.rounds)
	if err != nil {
		return fl.Plan{}, err
	}
	if data != nil {
		t.session.calls++
		return t.planOf(data)
	}
	p, err := t.session.plan(ctx)
	if err != nil {
		return fl.Plan{}, err
	}
	return t.complete(p)
}

// own is the plan of a trial without a client tuner.
func (t *trial) own() fl.Plan {
	return fl.Plan{Server: t.hyper.Server, Clients: []fl.ClientParams{t.hyper.Client}, Probes: t.driver.scoreProbes}
}

// planOf reads a recorded plan.
func (t *trial) planOf(data []byte) (fl.Plan, error) {
	var p tuners.Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return fl.Plan{}, fmt.Errorf("trial %d, round %d: the recorded plan: %w", t.number, t.rounds+1, err)
	}
	return t.complete(p)
}

// complete lays a client tuner's plan over the trial's own hyperparameters and
// adds the probes.
func (t *trial) complete(p tuners.Plan) (fl.Plan, error) {
	plan, err := t.merge(p)
	plan.Probes = slices.Concat(t.driver.scoreProbes, t.probes)
	return plan, err
}

// merge lays a client tuner's plan over the trial's own hyperparameters.
func (t *trial) merge(p tuners.Plan) (fl.Plan, error) {
	d := t.driver
	base, err := t.hyper.With(p.Server, d.adds)
	if err != nil {
		return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: %w", t.number, t.rounds, err)
	}
	plan := fl.Plan{Server: base.Server}
	for _, c := range p.Clients {
		h, err := base.With(c, d.adds)
		if err != nil {
			return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: %w", t.number, t.rounds, err)
		}
		plan.Clients = append(plan.Clients, h.Client)
	}
	for _, cell := range p.Table {
		h, err := base.With(cell.Params, d.adds)
		if err != nil {
			return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: %w", t.number, t.rounds, err)
		}
		plan.Table = append(plan.Table, hyper.Cell{HI: cell.Keys[tuners.KeyHI], Samples: cell.Keys[tuners.KeySamples], Params: h.Client})
	}
	if len(plan.Clients) == 0 && len(plan.Table) == 0 {
		plan.Clients = []fl.ClientParams{base.Client}
	}
	return plan, nil
}

// testPlan returns the hyperparameters with which every client trains before
// its personalized model is measured.
func (t *trial) testPlan(ctx context.Context, session tuners.Session, round int) ([]fl.ClientParams, error) {
	if session == nil {
		return []fl.ClientParams{t.hyper.Client}, nil
	}
	slots := len(t.driver.setup.Data.Clients)
	request := tuners.PlanRequest{Trial: t.number, Round: round, Slots: slots, Purpose: tuners.Test}
	if t.driver.tellsKeys() {
		for i := range slots {
			request.ClientKeys = append(request.ClientKeys, uint64(i))
		}
	}
	p, err := session.PlanRound(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("client tuner: test of trial %d: %w", t.number, err)
	}
	plan, err := t.merge(p)
	if err != nil || len(plan.Table) == 0 {
		return plan.Clients, err
	}
	clients := make([]fl.ClientParams, slots)
	for i := range clients {
		if clients[i], err = t.driver.engine.Lookup(plan.Table, i); err != nil {
			return nil, fmt.Errorf("client tuner: test of trial %d: %w", t.number, err)
		}
	}
	return clients, nil
}
