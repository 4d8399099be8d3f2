package study

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/tuners"
)

// entrant is a trial of a study with what it has come to.
type entrant struct {
	*trial.Trial
	driver *driver
	tally
	floor    float64    // below which its models are kept
	lowest   float64    // score of the last segment's best, NaN for none
	mean     Discounted // of the scores since the last rung
	lane     *lane      // of its events
	measures int        // how often its sub-networks were scored
	recent   Recent     // board.mu guards it and the standing, which are for the display only
	standing Standing
}

// tally sums up the rounds of a trial.
type tally struct {
	dropped  int
	fleet    *Simulated // nil without one
	examples int
	losses   []float64 // by round, of a plain run
	loss     Trend
	curve    []CurvePoint
	rungs    []Rung
}

// open opens a trial.
func (d *driver) open(ctx context.Context, number int, params tuners.Params, source *trial.Trial) (*entrant, error) {
	t, err := d.study.Open(ctx, number, params, source)
	if err != nil {
		return nil, err
	}
	e := &entrant{Trial: t, driver: d}
	d.add(e)
	return e, nil
}

// segment runs the trial on to a round and closes a rung there; it calls begins
// before each round with those that the trial has run. The best model of the
// segment that beats t.floor is kept. The error is of what ends the study.
func (t *entrant) segment(ctx context.Context, toRound int, begins func(rounds int), emit func(Event)) error {
	d := t.driver
	if err := t.Begin(); err != nil {
		return err
	}
	defer t.Leave()
	d.setup.Control.begins(t)
	defer d.setup.Control.ends(t)
	var score float64
	for t.Rounds() < toRound && !t.reached() {
		begins(t.Rounds())
		if reason, err := d.setup.Control.due(ctx, t); err != nil || reason != "" {
			return t.endBy(ctx, reason, err, emit)
		}
		rec, err := t.Next(ctx)
		if failed, ok := errors.AsType[*trial.FailError](err); ok {
			emit(Event{Event: "fail", Trial: t.Number, Round: t.Rounds(), Reason: failed.Reason})
			return t.Fail(ctx, failed)
		}
		if err != nil && ctx.Err() != nil {
			if failed := t.Save(context.WithoutCancel(ctx)); failed != nil && !errors.Is(failed, ErrLost) {
				return failed
			}
		}
		if err != nil {
			return err
		}
		t.count(rec)
		if score, err = t.score(rec); err != nil {
			return err
		}
		emit(t.event(rec, score))
		d.roundDone(t, toRound, rec, score)
		if t.Due() {
			err := t.Save(context.WithoutCancel(ctx))
			if errors.Is(err, ErrLost) {
				t.Leave()
			} else if err != nil {
				return err
			}
		}
	}
	return t.rung(ctx, score, emit)
}

// count takes in a round.
func (t *entrant) count(rec *record.Round) {
	t.dropped += rec.Dropped
	t.examples += rec.Examples
	t.loss.add(float64(rec.TrainLoss))
	if t.driver.setup.Unscored {
		t.losses = append(t.losses, float64(rec.TrainLoss))
	}
	t.addFleet(rec)
	if rec.TestError != nil {
		t.curve = append(t.curve, CurvePoint{
			Round: t.Rounds(), Examples: t.examples, Clock: clockOf(rec), TestError: float64(*rec.TestError), ValError: rec.ValError.Pointer(), Epsilon: rec.Epsilon.Pointer(), Masked: rec.MaskedErrors(), Params: rec.Params,
		})
	}
}

// score returns the trial's score after a round, and keeps the model if it is the
// segment's best. That of a plain run is NaN, also where all clients were dropped, who
// would score the worst.
func (t *entrant) score(rec *record.Round) (float64, error) {
	d := t.driver
	if d.setup.Unscored {
		return math.NaN(), nil
	}
	if math.IsNaN(float64(rec.Score)) {
		return 0, fmt.Errorf("trial %d, round %d: no client of the cohort has validation samples to score on; enlarge the cohort or change data.split", t.Number, t.Rounds())
	}
	score := t.mean.Add(float64(rec.Score), d.setup.Config.Score.Discount)
	if d.objective.Better(score, t.floor) && d.objective.Better(score, t.BestScore()) {
		return score, t.Keep(score)
	}
	return score, nil
}

// reached reports whether the trial ends early: at its goal, or out of patience.
func (t *entrant) reached() bool {
	if !t.driver.lone && !t.driver.setup.Unscored {
		return false
	}
	eval := t.driver.setup.Config.Eval
	if eval.Goal > 0 && Reached(t.curve, eval.Goal) != nil {
		return true
	}
	if most := t.driver.setup.Config.Time.Seconds; most > 0 && t.fleet != nil && t.fleet.Clock >= most {
		return true
	}
	_, stale := Stale(t.curve, eval.Patience)
	return stale
}

// rung ends a segment that has reached its round, or the goal.
func (t *entrant) rung(ctx context.Context, score float64, emit func(Event)) error {
	t.mean = Discounted{}
	if err := t.Pause(ctx, t.reached() || t.Rounds() >= t.driver.budget.TrialRounds); err != nil || t.driver.setup.Unscored {
		return err
	}
	t.rungs = append(t.rungs, Rung{Round: t.Rounds(), Score: score})
	emit(Event{Event: "rung", Trial: t.Number, Round: t.Rounds(), Score: &score})
	return t.CloseRung(score)
}

// endBy ends the trial as a user wanted.
func (t *entrant) endBy(ctx context.Context, reason string, err error, emit func(Event)) error {
	if err != nil {
		return err
	}
	emit(Event{Event: "stop", Trial: t.Number, Round: t.Rounds(), Reason: reason})
	return t.End(ctx, reason)
}

// event is the line of the metrics about the round that the trial has just run.
func (t *entrant) event(rec *record.Round, score float64) Event {
	loss := float64(rec.TrainLoss)
	e := Event{
		Event: "round", Trial: t.Number, Round: t.Rounds(), TrainLoss: &loss, Steps: rec.Steps, Examples: rec.Examples, Dropped: rec.Dropped,
		DroppedSlots: rec.DroppedSlots, Params: rec.Params, TestError: rec.TestError.Pointer(), ValError: rec.ValError.Pointer(), Epsilon: rec.Epsilon.Pointer(), OtherScore: rec.Other.Pointer(),
	}
	if f := rec.Fleet; f != nil {
		e.Clock, e.Late, e.Vanished, e.Stale, e.FailedRounds = clockOf(rec), f.Late, f.Vanished, f.Stale, f.Failed
	}
	if rec.TestError != nil {
		e.Masked = rec.MaskedErrors()
	}
	if t.driver.setup.Unscored {
		return e
	}
	e.Score = &score
	for _, client := range rec.Clients {
		e.Clients = append(e.Clients, t.driver.setup.Data.Clients[client].ID)
	}
	return e
}

// report is that of the end of a segment.
func (t *entrant) report() tuners.TrialReport {
	if p := t.Phase(); p == trial.Failed || p == trial.Ended {
		return tuners.TrialReport{Trial: t.Number, Round: t.Rounds(), Score: math.NaN(), Failed: true, Reason: t.Reason()}
	}
	rung := t.rungs[len(t.rungs)-1]
	return tuners.TrialReport{Trial: t.Number, Round: rung.Round, Score: rung.Score}
}

// result is the trial's row of the study's result.
func (t *entrant) result() TrialResult {
	r := TrialResult{
		Number: t.Number, State: Completed, Params: t.Params, Rounds: t.Rounds(), Rungs: t.rungs, Dropped: t.dropped, Loss: t.loss, Curve: t.curve, Fleet: t.fleet,
	}
	if n := len(t.rungs); n > 0 {
		r.Score = t.rungs[n-1].Score
	}
	if t.Source != nil {
		r.Source = &t.Source.Number
	}
	switch t.Phase() {
	case trial.Ended:
		r.State, r.Stopped = Pruned, t.Reason()
	case trial.Failed:
		r.State, r.Failed = Failed, t.Reason()
	case trial.Stopped:
		if t.Rounds() < t.driver.budget.TrialRounds {
			r.State = Pruned
		}
	default:
	}
	return r
}
