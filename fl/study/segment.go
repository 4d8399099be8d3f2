package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
)

// segment runs the trial on to a round and closes a rung there; it calls begins
// before each round with those that the trial has run. The best model of the
// segment that beats t.floor is kept in t.best. A trial that fails on the way has
// its reason in t.fail; the error is of what ends the study.
func (t *trial) segment(ctx context.Context, toRound int, begins func(rounds int), emit func(Event)) error {
	d := t.driver
	t.best = candidate{score: math.NaN(), trial: t}
	t.kept.at = time.Now()
	defer t.leave()
	d.setup.Control.begins(t)
	defer d.setup.Control.ends(t)
	var score float64
	for t.rounds < toRound && !t.reached() {
		begins(t.rounds)
		act, err := d.setup.Control.due(ctx, t)
		if err != nil {
			return err
		}
		if act != nil {
			return t.ends(ctx, *act, emit)
		}
		rec, err := t.next(ctx)
		if failed, ok := errors.AsType[*failure](err); ok {
			return t.end(ctx, failed, emit)
		}
		if err != nil && ctx.Err() != nil {
			if failed := t.save(context.WithoutCancel(ctx)); failed != nil && !errors.Is(failed, ErrLost) {
				return failed
			}
		}
		if err != nil {
			return err
		}
		if score = float64(rec.Score); !d.meter.unscored {
			if math.IsNaN(score) {
				return fmt.Errorf("trial %d, round %d: no client of the cohort has validation examples to score on; enlarge the cohort or change data.split", t.number, t.rounds)
			}
			score = t.mean.Add(score, d.setup.Config.Score.Discount)
			if d.objective.Better(score, t.floor) && d.objective.Better(score, t.best.score) {
				if err := t.keep(score); err != nil {
					return err
				}
			}
		}
		emit(t.event(rec, score))
		d.roundDone(t, toRound, rec, score)
		if t.due() {
			err := t.save(context.WithoutCancel(ctx))
			if errors.Is(err, ErrLost) {
				t.leave()
			} else if err != nil {
				return err
			}
		}
	}
	return t.rung(ctx, score, emit)
}

// trains reports whether the trial is in training, so that there is something to save.
func (t *trial) trains() bool { return t.train != nil || t.away != nil }

// due reports whether the trial should be saved between two rounds.
func (t *trial) due() bool {
	return t.away != nil && t.away.Leaving() || t.trains() && time.Since(t.kept.at) >= t.driver.setup.snapshotEvery()
}

// rung ends a segment that has reached its round, or the goal.
func (t *trial) rung(ctx context.Context, score float64, emit func(Event)) error {
	t.mean = Discounted{}
	if t.reached() || t.rounds >= t.driver.budget.TrialRounds {
		t.driver.ended(t)
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	if t.worthwhile() || t.driver.meter.unscored {
		if err := t.save(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	if t.driver.meter.unscored {
		return nil
	}
	t.rungs = append(t.rungs, Rung{Round: t.rounds, Score: score})
	emit(Event{Event: "rung", Trial: t.number, Round: t.rounds, Score: &score})
	if t.past.rungs[t.rounds] {
		return nil
	}
	return t.driver.history.append(KindRung, t.number, t.rounds, rungRecord{real(score)})
}

// keep takes the trial as it is for its segment's best.
func (t *trial) keep(score float64) error {
	t.best.score, t.best.round, t.best.state = score, t.rounds, nil
	switch {
	case t.away != nil:
		t.away.keep(&t.best)
	case t.train != nil:
		here{t.driver, t.train}.keep(&t.best)
	default: // its weights may never be needed; if so, they can be had
		t.best.weights = nil
		return nil
	}
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
	t.clients = 0
	switch {
	case rec != nil:
		if t.session != nil {
			t.session.calls += 2
		}
	case t.past.fail != nil:
		return nil, &failure{*t.past.fail}
	default:
		if _, err := t.training(ctx); err != nil {
			return nil, err
		}
		start := time.Now()
		if rec, err = t.run(ctx); err != nil {
			return nil, err
		}
		t.kept.spent += time.Since(start)
		t.clients = len(rec.Clients)
	}
	t.rounds++
	t.dropped += rec.Dropped
	t.examples += rec.Examples
	t.observeGoal(rec)
	t.loss.add(float64(rec.TrainLoss))
	if t.driver.meter.unscored {
		t.losses = append(t.losses, float64(rec.TrainLoss))
	}
	return rec, nil
}

// run plans, trains and observes one round; each step is recorded before the
// next. ctx is looked at only where the round must be begun again elsewhere.
func (t *trial) run(ctx context.Context) (*roundRecord, error) {
	until := ctx
	ctx = context.WithoutCancel(ctx)
	plan, err := t.plan(ctx)
	if err != nil {
		return nil, err
	}
	rec, err := t.round(until, plan)
	if panicked, ok := errors.AsType[*shard.PanicError](err); ok {
		return nil, &failure{failRecord{Reason: fmt.Sprintf("round %d: %s", t.rounds+1, panicked), Stack: string(panicked.Stack)}}
	}
	if err != nil {
		return nil, err
	}
	if rec.Dropped > 0 && t.driver.setup.Config.Nonfinite == config.NonfiniteFail {
		return nil, &failure{failRecord{Reason: fmt.Sprintf("round %d: the results of %d clients are not finite", t.rounds+1, rec.Dropped)}}
	}
	if err := t.driver.history.append(KindRound, t.number, t.rounds+1, rec); err != nil {
		return nil, err
	}
	if t.session != nil {
		if err := t.session.observe(ctx, rec); err != nil {
			return nil, err
		}
	}
	return rec, nil
}

// round trains the next round. One whose worker is lost is begun again elsewhere,
// while ctx lasts.
func (t *trial) round(ctx context.Context, plan fl.Plan) (*roundRecord, error) {
	for {
		tr, err := t.training(ctx)
		if err != nil {
			return nil, err
		}
		rec, err := tr.round(context.WithoutCancel(ctx), plan, t.probes)
		if err == nil {
			t.told(rec, plan)
		}
		if !errors.Is(err, ErrLost) {
			return rec, err
		}
		t.leave()
	}
}

// told adds to a round's record what the client tuner set for all clients alike.
func (t *trial) told(rec *roundRecord, plan fl.Plan) {
	if t.session == nil || len(plan.Clients) != 1 {
		return
	}
	set := hyper.Values{Client: plan.Clients[0], Server: plan.Server}.Matching(t.driver.clientControls)
	if len(set) > 0 { // else nil, as it is read from the record
		rec.Params = set
	}
}

// ends takes a trial out of the study as a person wanted.
func (t *trial) ends(ctx context.Context, act actRecord, emit func(Event)) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	t.act, t.fail = &act, &failRecord{Reason: act.reason()}
	emit(Event{Event: "stop", Trial: t.number, Round: t.rounds, Reason: t.fail.Reason})
	return t.stop(context.WithoutCancel(ctx))
}

// end takes a failed trial out of the study.
func (t *trial) end(ctx context.Context, f *failure, emit func(Event)) error {
	d := t.driver
	t.fail = &f.failRecord
	d.mu.Lock()
	t.failed = true
	d.mu.Unlock()
	emit(Event{Event: "fail", Trial: t.number, Round: t.rounds, Reason: f.Reason})
	if t.past.fail == nil {
		d.setup.log().Error("a trial failed and is given up", "trial", t.number, "reason", f.Reason, "stack", f.Stack)
		if err := d.history.append(KindFail, t.number, t.rounds, f.failRecord); err != nil {
			return err
		}
	}
	return t.stop(context.WithoutCancel(ctx))
}
