package meter

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// before measures every client before a trial's first round, if eval.record_every says so.
func (m *Meter) before(ctx context.Context, tr *fl.Trial, plan *fl.Plan) (*record.Table, error) {
	if m.Config.Eval.RecordEvery == 0 || tr.Rounds() > 0 {
		return nil, nil
	}
	e, err := m.clientErrors(ctx, tr, plan)
	return &record.Table{Before: e}, err
}

// after adds the errors after a round, if it is one of those that are recorded; t is nil or
// what before has returned.
func (m *Meter) after(ctx context.Context, tr *fl.Trial, plan *fl.Plan, t *record.Table) (*record.Table, error) {
	every, last := m.Config.Eval.RecordEvery, m.Config.Budget.TrialRounds
	if m.Unscored {
		last = m.Config.Rounds
	}
	if every == 0 || tr.Rounds()%every != 0 && tr.Rounds() != last {
		return t, nil
	}
	if t == nil {
		t = &record.Table{}
	}
	var err error
	t.After, err = m.clientErrors(ctx, tr, plan)
	return t, err
}

// clientErrors measures every client: the global model of a trial, or its personalized ones.
func (m *Meter) clientErrors(ctx context.Context, tr *fl.Trial, plan *fl.Plan) (*record.Errors, error) {
	whose := m.whose(tr, plan.Clients, &plan.Server)
	val, test, err := m.engine.ClientErrors(ctx, tr.Weights(), whose)
	if err != nil {
		return nil, err
	}
	e := &record.Errors{Val: val, Test: test, SHA256: m.Model.SHA256(tr.Weights())}
	if m.Data.Test.Len() == 0 || whose.Clients != nil {
		return e, nil
	}
	s, err := m.engine.EvaluateSplit(ctx, tr.Weights(), "test", nil, fl.EvalConfig{})
	central := s.Error
	if m.Model.Loss().Numbers() {
		central = min(s.Fit.MSE, limit.DivergedFit*limit.DivergedFit)
	}
	e.Test, e.Central = nil, new(record.Real(central))
	return e, err
}
