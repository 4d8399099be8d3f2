package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/tuners"
)

// trial is a trial of a study: a federated training with its params, and the
// client tuner's session about it.
type trial struct {
	driver  *driver
	number  int
	params  tuners.Params
	hyper   hyper
	source  *trial // that it was forked from, nil for none
	base    int    // the rounds that it had then
	past    *pastTrial
	page    []store.Row // recorded rounds from the next one on, a few of them
	train   *fl.Trial   // nil while the rounds come from the record, or when dropped
	session *clientSession
	probes  []string // what the client tuner's session sees of each slot
	rounds  int
	toRound int // where the tuner has sent it
	stopped bool
	// released says that the tuner will not fork it any more.
	released bool
	fail     *failRecord // why it cannot go on
	dropped  int
	examples int
	losses   []float64 // by round, of a plain run
	curve    []CurvePoint
	rungs    []Rung
	mean     discounted // of the scores since the last rung
	best     candidate  // of the leg at work
	kept     snapshots
}

// candidate is a model that may be returned.
type candidate struct {
	score   float64 // NaN when there is none
	trial   *trial
	round   int
	weights []float32 // nil where the round comes from the record
	memory  *fl.State // of the method, nil for most
	state   []byte    // of the client tuner's session; nil where it was not at hand
	saved   string    // the snapshot that this leg stored last
}

// discounted is the mean of a series in which an entry of age a weighs
// discount^a.
type discounted struct{ sum, weight float64 }

func (d *discounted) add(x, discount float64) float64 {
	d.sum = float64(d.sum*discount) + x
	d.weight = float64(d.weight*discount) + 1
	return d.sum / d.weight
}

// open starts a trial, with fresh weights or as a copy of source. Its weights
// and the client tuner's session come when they are needed.
func (d *driver) open(ctx context.Context, number int, params tuners.Params, source *trial) (*trial, error) {
	h, err := d.base.with(params, d.adds)
	if err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	if err := h.check(d.method); err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	t := &trial{driver: d, number: number, params: params, hyper: h, source: source, past: d.history.trials[number]}
	rec := trialRecord{Params: params}
	if source != nil {
		t.base, t.rounds, t.toRound = source.rounds, source.rounds, source.rounds
		rec.Source = &source.number
	}
	if d.setup.ClientTuner != nil {
		t.session = &clientSession{trial: t}
		if t.past != nil {
			t.probes = t.past.opened.Probes
		} else if err := t.openSession(ctx); err != nil {
			return nil, err
		}
		rec.Probes = t.probes
	}
	if t.past != nil {
		if have, want := t.past.opened.Params, params; !have.Equal(want) {
			return nil, fmt.Errorf("trial %d: its recorded rounds are of other params, %v", number, have)
		}
		t.past.rounds = max(t.past.rounds, t.base)
		return t, nil
	}
	t.past = &pastTrial{rounds: t.base}
	if err := d.history.append(kindTrial, number, t.base, rec); err != nil {
		return nil, err
	}
	if source == nil {
		return t, nil
	}
	// The source may run on before the copy does.
	if t.train, err = d.copyOf(ctx, source, number); err != nil {
		return nil, err
	}
	return t, t.save(ctx)
}

// openSession opens the client tuner's session and asks which probes it uses.
func (t *trial) openSession(ctx context.Context) error {
	if err := t.session.wake(ctx); err != nil {
		return err
	}
	t.probes = t.driver.clientProbes
	if p, ok := t.session.live.(tuners.Prober); ok {
		t.probes = p.Probes()
	}
	t.probes = slices.Concat(t.probes, t.driver.clientScalars)
	return nil
}

// openClientSession opens the client tuner's session about a trial, at the
// start or in a recorded state. It is told, besides the trial's params, what the
// study sets for the hyperparameters that it controls.
func (d *driver) openClientSession(ctx context.Context, t *trial, state []byte) (tuners.Session, error) {
	s, err := d.setup.ClientTuner.Open(ctx, tuners.OpenRequest{
		Study: d.setup.Config.Name, Space: d.space, Options: d.clientOptions, Budget: d.budget, Objective: d.objective,
		Seed: d.setup.Config.Seed, Trial: t.number, Params: t.hyper.matching(d.clientControls).Merge(t.params), State: state,
	})
	if err != nil {
		return nil, fmt.Errorf("client tuner: trial %d: %w", t.number, err)
	}
	return s, nil
}

// leg runs the trial on to a round and closes a rung there. The best model of
// the leg that beats floor is kept in t.best. A trial that fails on the way has
// its reason in t.fail; the error is of what ends the study.
func (t *trial) leg(ctx context.Context, toRound int, floor float64, emit func(Event)) error {
	d := t.driver
	t.best = candidate{score: math.NaN(), trial: t}
	t.kept.at = time.Now()
	var score float64
	for t.rounds < toRound && !t.reached() {
		rec, err := t.next(ctx)
		if failed, ok := errors.AsType[*failure](err); ok {
			return t.end(ctx, failed, emit)
		}
		if err != nil && ctx.Err() != nil {
			if failed := t.save(context.WithoutCancel(ctx)); failed != nil {
				return failed
			}
		}
		if err != nil {
			return err
		}
		if score = float64(rec.Score); !d.unscored {
			if math.IsNaN(score) {
				return fmt.Errorf("trial %d, round %d: no client of the cohort has validation examples, so there is no score; enlarge the cohort or change data.split", t.number, t.rounds)
			}
			score = t.mean.add(score, d.setup.Config.Score.Discount)
			if d.objective.Better(score, floor) && d.objective.Better(score, t.best.score) {
				if err := t.keep(score); err != nil {
					return err
				}
			}
		}
		emit(t.event(rec, score))
		d.roundDone(t, toRound, rec, score)
		if t.train != nil && time.Since(t.kept.at) >= d.setup.snapshotEvery() {
			if err := t.save(ctx); err != nil {
				return err
			}
		}
	}
	return t.rung(ctx, score, emit)
}

// rung ends a leg that has reached its round, or the goal.
func (t *trial) rung(ctx context.Context, score float64, emit func(Event)) error {
	t.mean = discounted{}
	t.toRound = t.rounds
	if t.worthwhile() || t.driver.unscored {
		if err := t.save(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	if t.driver.unscored {
		return nil
	}
	t.rungs = append(t.rungs, Rung{Round: t.rounds, Score: score})
	emit(Event{Event: "rung", Trial: t.number, Round: t.rounds, Score: &score})
	if t.past.rungs[t.rounds] {
		return nil
	}
	return t.driver.history.append(kindRung, t.number, t.rounds, rungRecord{real(score)})
}

// keep takes the trial as it is for its leg's best.
func (t *trial) keep(score float64) error {
	t.best.score, t.best.round, t.best.state = score, t.rounds, nil
	if t.train == nil { // its weights may never be needed; if so, they can be had
		t.best.weights = nil
		return nil
	}
	if t.best.weights == nil {
		t.best.weights = t.driver.buffer()
	}
	t.best.weights, t.best.memory = append(t.best.weights[:0], t.train.Weights()...), t.train.State()
	if s := t.session; s != nil && s.live != nil {
		t.best.state = slices.Clone(s.live.State())
		return t.driver.history.setState(t.number, candidateSlot, s.calls, t.best.state)
	}
	return nil
}

// failure ends a trial, not the study.
type failure struct{ failRecord }

func (f *failure) Error() string { return f.Reason }

// next brings the trial one round on: from the record, or by running the round.
// ctx is looked at only before: a round that has begun ends.
func (t *trial) next(ctx context.Context) (*roundRecord, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rec, err := t.recorded(ctx, t.rounds)
	if err != nil {
		return nil, err
	}
	switch {
	case rec != nil:
		if t.session != nil {
			t.session.calls += 2
		}
	case t.past.fail != nil:
		return nil, &failure{*t.past.fail}
	default:
		if err := t.materialize(ctx); err != nil {
			return nil, err
		}
		start := time.Now()
		if rec, err = t.run(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
		t.kept.spent += time.Since(start)
	}
	t.rounds++
	t.dropped += rec.Dropped
	t.examples += rec.Examples
	t.observeGoal(rec)
	if t.driver.unscored {
		t.losses = append(t.losses, float64(rec.TrainLoss))
	}
	return rec, nil
}

// run plans, trains and observes one round; each step is recorded before the
// next.
func (t *trial) run(ctx context.Context) (*roundRecord, error) {
	plan, err := t.plan(ctx)
	if err != nil {
		return nil, err
	}
	r, err := t.train.Round(ctx, plan)
	if panicked, ok := errors.AsType[*fl.PanicError](err); ok {
		return nil, &failure{failRecord{Reason: fmt.Sprintf("round %d: %s", t.rounds+1, panicked), Stack: string(panicked.Stack)}}
	}
	if err != nil {
		return nil, err
	}
	if r.Dropped > 0 && t.driver.setup.Config.Nonfinite == NonfiniteFail {
		return nil, &failure{failRecord{Reason: fmt.Sprintf("round %d: the results of %d clients are not finite", t.rounds+1, r.Dropped)}}
	}
	rec, err := t.record(ctx, t.train, plan, r)
	if err != nil {
		return nil, err
	}
	if err := t.driver.history.append(kindRound, t.number, t.rounds+1, rec); err != nil {
		return nil, err
	}
	if t.session != nil {
		if err := t.session.observe(ctx, rec); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

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
	return fl.Plan{Server: t.hyper.server, Clients: []fl.ClientParams{t.hyper.client}, Probes: t.driver.scoreProbes}
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
	plan, err := t.merge(p, t.driver.setup.Config.Cohort)
	plan.Probes = slices.Concat(t.driver.scoreProbes, t.probes)
	return plan, err
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
	for _, cell := range p.Table {
		h, err := base.with(cell.Params, d.adds)
		if err != nil {
			return fl.Plan{}, fmt.Errorf("client tuner: trial %d, round %d: %w", t.number, t.rounds, err)
		}
		plan.Table = append(plan.Table, fl.Cell{HI: cell.Keys[tuners.KeyHI], Samples: cell.Keys[tuners.KeySamples], Params: h.client})
	}
	if len(plan.Clients) == 0 && len(plan.Table) == 0 {
		plan.Clients = []fl.ClientParams{base.client}
	}
	return plan, nil
}

// end takes a failed trial out of the study.
func (t *trial) end(ctx context.Context, f *failure, emit func(Event)) error {
	d := t.driver
	t.fail = &f.failRecord
	emit(Event{Event: "fail", Trial: t.number, Round: t.rounds, Reason: f.Reason})
	if t.past.fail == nil {
		d.setup.log().Error("a trial failed and is given up", "trial", t.number, "reason", f.Reason, "stack", f.Stack)
		if err := d.history.append(kindFail, t.number, t.rounds, f.failRecord); err != nil {
			return err
		}
	}
	return t.stop(context.WithoutCancel(ctx))
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
	if err != nil || len(plan.Table) == 0 {
		return plan.Clients, err
	}
	clients := make([]fl.ClientParams, slots)
	for i := range clients {
		clients[i] = t.driver.engine.Lookup(plan.Table, i)
	}
	return clients, nil
}

// stop ends the trial's rounds. What only further rounds need is freed, unless a
// tuner that forks may still copy the trial.
func (t *trial) stop(ctx context.Context) error {
	t.stopped = true
	if t.driver.forks {
		t.session.remember()
	}
	err := t.session.close(ctx)
	if t.fail == nil && t.driver.forks && !t.released {
		return err
	}
	return errors.Join(err, t.drop())
}

// release notes that the tuner will not fork the trial.
func (t *trial) release() error {
	t.released = true
	if t.stopped {
		return t.drop()
	}
	return nil
}

// drop frees the weights and deletes the snapshots but those of candidates, and
// the last one of a trial that other studies may go on with.
func (t *trial) drop() error {
	t.train = nil
	if t.driver.setup.KeepTrials {
		return t.prune(1)
	}
	return t.prune(0)
}

// result is the trial's row of the study's result.
func (t *trial) result() TrialResult {
	r := TrialResult{Number: t.number, Params: t.params, Rounds: t.rounds, Rungs: t.rungs, Dropped: t.dropped, Curve: t.curve}
	if n := len(t.rungs); n > 0 {
		r.Score = t.rungs[n-1].Score
	}
	if t.source != nil {
		r.Source = &t.source.number
	}
	if t.fail != nil {
		r.Failed = t.fail.Reason
	}
	return r
}
