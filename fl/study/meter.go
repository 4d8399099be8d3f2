package study

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// meter makes records of what rounds measure. It needs the configuration alone, so
// that it says the same wherever a round is trained.
type meter struct {
	config    *config.Config
	engine    *fl.Engine
	objective tuners.Objective
	unscored  bool // a plain run: there are no scores
	pace      pace
}

func newMeter(s *Setup, e *fl.Engine) *meter {
	return &meter{config: &s.Config, engine: e, objective: s.Config.Aim(), unscored: s.Unscored, pace: paceOf(s, e)}
}

// scoreOf returns a round's score in the study's objective under a target.
func (m *meter) scoreOf(r *fl.RoundResult, personalized bool) float64 {
	return r.NoisyScore(personalized, m.config.Score.Options()).Metric(m.objective.Metric)
}

// record keeps of a round's result what is recorded, with the probes that the
// client tuner observes; tr is the training after the round.
func (m *meter) record(ctx context.Context, tr *fl.Trial, observed []string, r *fl.RoundResult) (*roundRecord, error) {
	rec := m.results(observed, r)
	if every := m.pace.every; every == 0 || tr.Rounds()%every != 0 {
		return rec, nil
	}
	clients := m.pace.clients(tr.Rounds())
	s, err := m.engine.EvaluateTest(ctx, tr.Weights(), clients)
	if err != nil {
		return nil, err
	}
	if s.Clients > 0 {
		rec.TestError = new(real(s.Error))
		if !s.Central {
			rec.TestSpread = &Spread{s.P10, s.P50, s.P90}
		}
	}
	for _, masked := range s.Masked {
		if rec.Masked == nil {
			rec.Masked = map[string]real{}
		}
		rec.Masked[masked.Mask] = real(masked.Error)
	}
	if m.config.Eval.Patience == 0 {
		return rec, nil
	}
	v, err := m.engine.EvaluateVal(ctx, tr.Weights(), clients)
	if err != nil {
		return nil, err
	}
	if v.Clients > 0 {
		rec.ValError = new(real(v.Error))
	}
	return rec, nil
}

// results keeps what the round itself measured.
func (m *meter) results(observed []string, r *fl.RoundResult) *roundRecord {
	personalized := m.objective.Target == tuners.TargetPersonalized
	rec := &roundRecord{
		Score: real(m.scoreOf(r, personalized)), TrainLoss: real(r.TrainLoss),
		Steps: r.Steps, Examples: r.Examples, Dropped: r.Dropped, Clients: make([]int, len(r.Slots)),
	}
	if m.config.Score.Both && !m.unscored {
		rec.Other = new(real(m.scoreOf(r, !personalized)))
	}
	if x, ok := r.Probe(simulatedSeconds); ok {
		rec.Seconds = new(real(x))
	}
	for i := range r.Slots {
		rec.Clients[i] = r.Slots[i].Client
		if r.Slots[i].Dropped {
			rec.DroppedSlots = append(rec.DroppedSlots, i)
		}
	}
	for _, name := range observed {
		if _, ofSlots := r.Slots[0].Probe(name); !ofSlots {
			if rec.Aggregates == nil {
				rec.Aggregates = map[string]real{}
			}
			x, _ := r.Probe(name)
			rec.Aggregates[name] = real(x)
			continue
		}
		if rec.Probes == nil {
			rec.Probes = map[string][]real{}
		}
		values := make([]real, len(r.Slots))
		for i := range r.Slots {
			x, _ := r.Slots[i].Probe(name)
			values[i] = real(x)
		}
		rec.Probes[name] = values
	}
	return rec
}
