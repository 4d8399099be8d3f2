package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// plan returns the plan of the next round: the recorded one, or the client tuner's.
func (t *Trial) plan(ctx context.Context) (fl.Plan, error) {
	if t.session == nil {
		return t.Own(), nil
	}
	data, err := t.past.Plan(ctx, t.rounds)
	if err != nil {
		return fl.Plan{}, err
	}
	if data != nil {
		t.session.Skip(1)
		return t.planOf(data, t.rounds)
	}
	p, err := t.session.plan(ctx)
	if err != nil {
		return fl.Plan{}, err
	}
	return t.complete(p, t.rounds)
}

// Own is the plan of a trial without a client tuner.
func (t *Trial) Own() fl.Plan {
	h := t.Hyper()
	return fl.Plan{Server: h.Server, Time: h.Time, Sampler: h.Sampler, Update: h.Update, Aggregator: h.Aggregator, Clients: []fl.ClientParams{h.Client}, Probes: t.study.Hyper.Probes}
}

// planOf reads the recorded plan of a round.
func (t *Trial) planOf(data []byte, round int) (fl.Plan, error) {
	var p tuners.Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return fl.Plan{}, fmt.Errorf("trial %d, round %d: the recorded plan: %w", t.Number, round+1, err)
	}
	return t.complete(p, round)
}

// complete lays a client tuner's plan over the trial's own hyperparameters and
// adds the probes.
func (t *Trial) complete(p tuners.Plan, round int) (fl.Plan, error) {
	plan, err := t.merge(p)
	if err != nil {
		return plan, fmt.Errorf("client tuner: trial %d, round %d: %w", t.Number, round, err)
	}
	plan.Probes = slices.Concat(t.study.Hyper.Probes, t.session.probes)
	if t.study.Client.Noise > 0 {
		t.takeSlots(&plan, round)
	}
	return plan, nil
}

// merge lays a client tuner's plan over the trial's own hyperparameters.
func (t *Trial) merge(p tuners.Plan) (plan fl.Plan, err error) {
	adds := t.study.Hyper.Adds
	base, err := t.Hyper().With(p.Server, adds)
	if err != nil {
		return plan, err
	}
	plan.Server, plan.Time, plan.Update, plan.Aggregator = base.Server, base.Time, base.Update, base.Aggregator
	for _, c := range p.Clients {
		h, err := base.With(c, adds)
		if err != nil {
			return plan, err
		}
		plan.Clients = append(plan.Clients, h.Client)
	}
	for _, cell := range p.Table {
		h, err := base.With(cell.Params, adds)
		if err != nil {
			return plan, err
		}
		plan.Table = append(plan.Table, hyper.Cell{HI: cell.Keys[tuners.KeyHI], Samples: cell.Keys[tuners.KeySamples], Params: h.Client})
	}
	if len(plan.Clients) == 0 && len(plan.Table) == 0 {
		plan.Clients = []fl.ClientParams{base.Client}
	}
	return plan, nil
}

// testPlan returns the client tuner's plan for a test of the model on every client, unseen
// ones after the others, and their number.
func (m *Model) testPlan(ctx context.Context) (p tuners.Plan, slots int, err error) {
	t := m.Trial
	s, err := t.open(ctx, m.State)
	if err != nil {
		return p, 0, err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }() // it has answered
	slots = len(t.study.Meter.Data.Clients) + len(t.study.Meter.Data.Unseen)
	request := tuners.PlanRequest{Trial: t.Number, Round: m.Round, Slots: slots, Purpose: tuners.Test}
	if t.study.Client.keys() {
		for i := range slots {
			request.ClientKeys = append(request.ClientKeys, uint64(i))
		}
	}
	if p, err = s.PlanRound(ctx, request); err != nil {
		err = fmt.Errorf("client tuner: test of trial %d: %w", t.Number, err)
	}
	return p, slots, err
}

// Settings returns the hyperparameters of the model. A client tuner that learns which client
// is which has other ones for each, which are not told.
func (m *Model) Settings(ctx context.Context) (result.Settings, error) {
	t := m.Trial
	switch {
	case t.session == nil:
		return result.Settings{Params: t.Params}, nil
	case t.study.Client.keys():
		s := result.Settings{Params: t.Params.Clone(), StartedFrom: t.Params}
		maps.DeleteFunc(s.Params, func(name string, _ tuners.Value) bool { return tuners.Matches(name, t.study.Client.Controls...) })
		return s, nil
	}
	p, _, err := m.testPlan(ctx)
	if err != nil {
		return result.Settings{}, err
	}
	s := result.Settings{Probability: p.Probability, Table: p.Table, StartedFrom: tuners.Params{}}
	if p.Likeliest == nil && len(p.Clients) > 0 {
		counts, most := map[string]int{}, 0
		for _, params := range p.Clients {
			counts[params.String()]++
			most = max(most, counts[params.String()])
		}
		i := slices.IndexFunc(p.Clients, func(params tuners.Params) bool { return counts[params.String()] == most })
		if p.Likeliest = p.Clients[i]; most < len(p.Clients) {
			s.Probability = float64(most) / float64(len(p.Clients))
		}
	}
	s.Params = t.Params.Merge(p.Server).Merge(p.Likeliest)
	began := t.Hyper().Matching(t.study.Client.Controls).Merge(t.Params)
	for name := range s.Params {
		s.StartedFrom[name] = began[name]
	}
	return s, nil
}

// TestClients returns the hyperparameters with which every client, unseen ones after the others, trains before
// the model's personalized scores are taken.
func (m *Model) TestClients(ctx context.Context) (clients []fl.ClientParams, err error) {
	t := m.Trial
	if t.session == nil {
		return []fl.ClientParams{t.Hyper().Client}, nil
	}
	p, slots, err := m.testPlan(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := t.merge(p)
	if err != nil {
		return nil, fmt.Errorf("client tuner: test of trial %d: %w", t.Number, err)
	}
	if len(plan.Table) == 0 {
		return plan.Clients, nil
	}
	clients = make([]fl.ClientParams, slots)
	for i := range clients {
		if clients[i], err = t.study.Engine.Lookup(plan.Table, i); err != nil {
			return nil, err
		}
	}
	return clients, nil
}
