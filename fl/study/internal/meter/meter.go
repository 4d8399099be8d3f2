// Package meter makes the records of what rounds measure: with the configuration, the
// data and the model alone, so that it is the same wherever a round is trained.
package meter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tensor"
	"github.com/fedfast/fedfast/tuners"
)

// SimulatedSeconds is the probe of a client's time on the simulated device.
const SimulatedSeconds = "seconds_simulated"

// Study is what a meter needs to know of a study.
type Study struct {
	Config   *config.Config
	Data     *data.Federation
	Model    *nn.Model
	Unscored bool            // a plain run: there are no scores
	Account  *config.Account // of a private run, else nil
}

// Meter makes records of rounds.
type Meter struct {
	Study
	Objective tuners.Objective
	further   []string // metrics of a round's score beside the objective
	engine    *fl.Engine
	every     int                   // rounds from one measurement of the global model to the next; 0 is never
	seconds   float64               // the same in simulated seconds
	clients   func(round int) []int // on which it is measured
	newcomers int                   // of those that never train, on how many; 0 is all
	personal  bool                  // the clients' models are measured, and not the global one
}

// New returns the meter of an engine's trials.
func New(s Study, e *fl.Engine) *Meter {
	mode := config.ModeTune
	if s.Unscored {
		mode = config.ModeRun
	}
	m := &Meter{Study: s, Objective: s.Config.Aim(), engine: e, personal: s.Config.Measures(mode) == tuners.TargetPersonalized}
	for _, name := range s.Config.Aims().Metrics()[1:] {
		if !tuners.Summed(name) && !s.Unscored {
			m.further = append(m.further, name)
		}
	}
	m.setPace()
	return m
}

// scoreOf returns a round's score in the study's objective under a target, and in the
// further metrics.
func (m *Meter) scoreOf(r *fl.RoundResult, personalized bool) (record.Real, map[string]record.Real) {
	round, _ := m.Account.Scores(m.Config.Score.Options())
	metric := m.Objective.Metric
	if m.Config.ToGoal() {
		metric = tuners.MetricError
	}
	score := r.Score(personalized, round)
	var further map[string]record.Real
	for _, name := range m.further {
		if further == nil {
			further = make(map[string]record.Real, len(m.further))
		}
		further[name] = record.Real(score.Metric(name))
	}
	return record.Real(score.Metric(metric)), further
}

// Round runs the next round of a training by a plan and returns its record, with the probes
// that the client tuner observes.
func (m *Meter) Round(ctx context.Context, tr *fl.Trial, plan fl.Plan, observed []string) (*record.Round, error) {
	table, err := m.before(ctx, tr, &plan)
	if err != nil {
		return nil, err
	}
	r, err := tr.Round(ctx, plan)
	if err != nil {
		return nil, err
	}
	rec, err := m.record(ctx, tr, &plan, observed, r)
	if err != nil {
		return nil, err
	}
	m.digest(tr, r.Slots, rec)
	rec.Table, err = m.after(ctx, tr, &plan, table)
	return rec, err
}

// record keeps of a round's result what is recorded; tr is the training after the round.
func (m *Meter) record(ctx context.Context, tr *fl.Trial, plan *fl.Plan, observed []string, r *fl.RoundResult) (*record.Round, error) {
	rec := m.results(observed, r)
	if err := m.measure(ctx, tr, plan, r, rec); err != nil {
		return nil, err
	}
	if m.Config.ToGoal() && !m.Unscored {
		rec.Score = record.Real(m.toGoal(r, rec))
	}
	for _, name := range m.further {
		if name != tuners.MetricErrorUnseen && name != tuners.MetricUnseenAdapted {
			continue
		}
		s, err := m.unseen(ctx, tr, plan, r, "val", name == tuners.MetricUnseenAdapted)
		if err != nil {
			return nil, err
		}
		rec.Values[name] = record.Real(s.Error)
	}
	return rec, nil
}

// unseen measures the trial's model on clients that never train, or those that they adapt.
func (m *Meter) unseen(ctx context.Context, tr *fl.Trial, plan *fl.Plan, r *fl.RoundResult, split string, adapted bool) (fl.Summary, error) {
	v := fl.EvalConfig{Unseen: true}
	if split == "test" {
		v.Sample = m.newcomers
	}
	if adapted {
		v.Clients, v.Server, v.Round, v.State = one(plan, r), &r.Server, tr.Rounds(), tr.State()
	}
	return m.engine.EvaluateSplit(ctx, tr.Weights(), split, nil, v)
}

// one is the hyperparameters of the clients that train to be measured: all have the same, since
// checks refuse client tuners there. In a round to which nobody came the plan has them.
func one(plan *fl.Plan, r *fl.RoundResult) []fl.ClientParams {
	if len(r.Slots) > 0 {
		return []fl.ClientParams{r.Slots[0].Params}
	}
	return plan.Clients[:min(1, len(plan.Clients))]
}

// toGoal is the score of a round for tuners.MetricSecondsToGoal.
func (m *Meter) toGoal(r *fl.RoundResult, rec *record.Round) float64 {
	most := float64(m.Config.Budget.TrialSeconds)
	if rec.ValError != nil && 1-float64(*rec.ValError) >= m.Config.Eval.Goal && r.End <= most {
		return r.End
	}
	return most * (1 + float64(rec.Score))
}

// whose says which models of a trial are measured on the way, personalized ones with the
// hyperparameters of its clients and its server.
func (m *Meter) whose(tr *fl.Trial, clients []fl.ClientParams, server *fl.ServerParams) fl.EvalConfig {
	if !m.personal {
		return fl.EvalConfig{}
	}
	return fl.EvalConfig{Clients: clients, Server: server, Kept: !m.Config.Eval.Adapt, Round: tr.Rounds(), State: tr.State()}
}

// measure measures models on the way, when it is time.
func (m *Meter) measure(ctx context.Context, tr *fl.Trial, plan *fl.Plan, r *fl.RoundResult, rec *record.Round) error {
	if !m.due(tr.Rounds(), r) {
		return nil
	}
	if m.Account != nil {
		rec.Epsilon = new(record.Real(m.Account.Spent(tr.Rounds())))
	}
	clients := m.clients(tr.Rounds())
	whose := m.whose(tr, one(plan, r), &r.Server)
	s, err := m.engine.EvaluateSplit(ctx, tr.Weights(), "test", clients, whose)
	if err != nil {
		return err
	}
	if s.Clients > 0 {
		rec.TestError = new(record.Real(s.Error))
		if !s.Central {
			rec.TestSpread = &record.Spread{P10: s.P10, P50: s.P50, P90: s.P90}
		}
	}
	for _, masked := range s.Masked {
		if rec.Masked == nil {
			rec.Masked = map[string]record.Real{}
		}
		rec.Masked[masked.Mask] = record.Real(masked.Error)
	}
	if eval := m.Config.Eval; len(m.Data.Unseen) > 0 {
		u, err := m.unseen(ctx, tr, plan, r, "test", m.personal && eval.Adapt)
		if err != nil {
			return err
		}
		if u.Clients > 0 {
			rec.Unseen = new(record.Real(u.Error))
		}
	}
	if !m.Config.Validates() {
		return nil
	}
	v, err := m.engine.EvaluateSplit(ctx, tr.Weights(), "val", clients, whose)
	if err != nil {
		return err
	}
	if v.Clients > 0 {
		rec.ValError = new(record.Real(v.Error))
	}
	return nil
}

// due reports whether the global model is measured after a round: with eval.every_seconds
// after the first one that ends at or after each multiple of that time.
func (m *Meter) due(rounds int, r *fl.RoundResult) bool {
	if m.seconds > 0 {
		return math.Floor(r.End/m.seconds) > math.Floor(r.Start/m.seconds)
	}
	return m.every > 0 && rounds%m.every == 0
}

// results keeps what the round itself measured.
func (m *Meter) results(observed []string, r *fl.RoundResult) *record.Round {
	personalized := m.Objective.Target == tuners.TargetPersonalized
	rec := &record.Round{
		TrainLoss: record.Real(r.TrainLoss),
		Steps:     r.Steps, Examples: r.Examples, Dropped: r.Dropped, Clients: make([]int, len(r.Slots)),
		Down: r.Down, Up: r.Up, Attackers: r.Attackers,
	}
	rec.Score, rec.Values = m.scoreOf(r, personalized)
	if m.Config.Score.Both && !m.Unscored {
		other, _ := m.scoreOf(r, !personalized)
		rec.Other = &other
	}
	if x, ok := r.Probe(SimulatedSeconds); ok {
		rec.Seconds = new(record.Real(x))
	}
	if rec.Fleet = fleetOf(r); rec.Fleet != nil {
		rec.Seconds = new(record.Real(r.End - r.Start))
	}
	for i := range r.Slots {
		rec.Clients[i] = r.Slots[i].Client
		if r.Slots[i].Dropped {
			rec.DroppedSlots = append(rec.DroppedSlots, i)
		}
	}
	for _, name := range observed {
		if _, ofSlots := new(fl.Slot).Probe(name); !ofSlots { // a cohort may be empty
			if rec.Aggregates == nil {
				rec.Aggregates = map[string]record.Real{}
			}
			x, _ := r.Probe(name)
			rec.Aggregates[name] = record.Real(x)
			continue
		}
		if rec.Probes == nil {
			rec.Probes = map[string][]record.Real{}
		}
		values := make([]record.Real, len(r.Slots))
		for i := range r.Slots {
			x, _ := r.Slots[i].Probe(name)
			values[i] = record.Real(x)
		}
		rec.Probes[name] = values
	}
	return rec
}

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
	t = cmp.Or(t, &record.Table{})
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

const (
	// digestCost is about how many multiply-adds of training two cores do in the time of the
	// digest of one weight. With 240, digests took 2.5 % of the rounds of reddi-emnist-cnn with four
	// clients on a busy Zen 5.
	digestCost = 1000
	// digestShare is the share of the training's time that digests take.
	digestShare = 0.004
)

// digest adds to the record of the training's last round what identifies it: every N rounds
// digests of the weights and of the server's state, which depends on neither the time nor the
// machine; with config.DigestsAll after each round, and those of the clients' changes.
func (m *Meter) digest(tr *fl.Trial, slots []fl.Slot, rec *record.Round) {
	state, floats := tr.ServerState(), m.Model.Size()
	for _, a := range state {
		floats += len(a)
	}
	all := m.Config.Digests == config.DigestsAll
	if !all && tr.Rounds()%m.digestEvery(floats) != 0 {
		return
	}
	defer func(begin time.Time) { m.engine.Digested(time.Since(begin)) }(time.Now())
	rec.Weights = m.Model.SHA256(tr.Weights())
	if floats > m.Model.Size() {
		h := sha256.New()
		for _, a := range state {
			h.Write(tensor.LittleEndian(a))
		}
		rec.State = hex.EncodeToString(h.Sum(nil))
	}
	if !all || len(slots) == 0 {
		return
	}
	rec.Tensors = map[string]record.Hashes{}
	number := 0
	m.Model.EachSpan(func(name string, _ nn.Span) {
		hashes := make(record.Hashes, len(slots))
		for i := range slots {
			if d := slots[i].Digests; number < len(d) {
				hashes[i] = d[number]
			}
		}
		rec.Tensors[name] = hashes
		number++
	})
}

// digestEvery is the number of rounds from one digest of as many numbers to the next.
func (m *Meter) digestEvery(floats int) int {
	_, train := m.Model.FLOPs()
	round := max(1, m.trainedSamples()*float64(train))
	return int(max(1, min(math.MaxInt32, math.Ceil(digestCost/digestShare*float64(floats)/round))))
}
