package study

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// entrant is a trial of a study with what it has come to.
type entrant struct {
	*trial.Trial
	driver *driver
	tally
	worth
	floor    float64           // below which its models are kept
	lowest   float64           // score of the last segment's best, NaN for none
	mean     result.Discounted // of the scores since the last rung
	lane     *lane             // of its events
	measures int               // how often its sub-networks were scored
	hit      bool              // it has reached the goal, where time to it is the objective
	last     float64           // score after the last round
	taken    int               // updates
	counted  int               // what the study has counted of its seconds or updates
	recent   result.Recent     // board.mu guards it and the standing, which are for the display only
	standing result.Standing
}

// tally sums up the rounds of a trial.
type tally struct {
	dropped  int
	fleet    *result.Simulated // nil without one
	updates  map[int]int       // that were taken of each client of the fleet
	squares  int               // of their numbers
	traffic  result.Traffic    // of its rounds
	examples int
	losses   []float64 // by round, of a plain run
	loss     result.Trend
	curve    []result.CurvePoint
	rungs    []result.Rung
}

// open opens a trial.
func (d *driver) open(ctx context.Context, spec trial.Spec) (*entrant, error) {
	t, err := d.study.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	e := &entrant{Trial: t, driver: d, last: math.NaN()}
	if source := spec.Source; source != nil {
		from := d.trial(source.Number)
		e.last, e.hit, e.taken, e.counted, e.values = from.last, from.hit, from.taken, from.counted, maps.Clone(from.values)
		if from.fleet != nil { // its clock goes on
			e.fleet = &result.Simulated{Clock: from.clock()}
		}
	}
	d.add(e)
	return e, nil
}

// segment runs the trial on to a round, or another unit of its budget, and closes a rung
// there; it calls begins before each round with what the trial has spent. The best model of the
// segment that beats t.floor is kept. The error is of what ends the study.
func (t *entrant) segment(ctx context.Context, to int, begins func(rounds int), emit func(Event)) error {
	d := t.driver
	if err := t.Begin(); err != nil {
		return err
	}
	defer t.Leave()
	d.setup.Control.begins(t)
	defer d.setup.Control.ends(t)
	score := t.last
	for t.spent() < to && !t.reached() {
		begins(t.spent())
		if reason, err := d.setup.Control.due(ctx, t); err != nil || reason != "" {
			return t.endBy(ctx, reason, err, emit)
		}
		rec, err := t.Next(ctx)
		if failed, ok := errors.AsType[*trial.FailError](err); ok {
			emit(Event{Event: "fail", Trial: t.Number, Reference: t.Reference, Round: t.Rounds(), Reason: failed.Reason})
			return t.Fail(failed)
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
		t.last = score
		emit(t.event(rec, score))
		d.roundDone(t, to, rec, score)
		if t.Due() {
			err := t.Save(context.WithoutCancel(ctx))
			if errors.Is(err, ErrLost) {
				t.Leave()
			} else if err != nil {
				return err
			}
		}
	}
	return t.rung(ctx, to, score, emit)
}

// count takes in a round.
func (t *entrant) count(rec *record.Round) {
	t.dropped += rec.Dropped
	t.examples += rec.Examples
	addTraffic(&t.traffic, rec)
	t.taken += len(rec.Clients)
	t.loss.Add(float64(rec.TrainLoss))
	if t.driver.setup.Unscored {
		t.losses = append(t.losses, float64(rec.TrainLoss))
	}
	if rec.Fleet != nil {
		t.addFleet(rec, len(t.driver.setup.Data.Clients), t.driver.study.Engine.Small())
	}
	if rec.TestError != nil {
		t.curve = append(t.curve, result.CurvePoint{
			Round: t.Rounds(), Examples: t.examples, Clock: clockOf(rec), TestError: float64(*rec.TestError),
			ValError: rec.ValError.Pointer(), Epsilon: rec.Epsilon.Pointer(), Unseen: rec.Unseen.Pointer(),
			Masked: rec.MaskedErrors(), Params: rec.Params,
		})
	}
}

// score returns the trial's score after a round, and keeps the model if it is the
// segment's best. That of a plain run is NaN, also where all clients were dropped, who
// would score the worst; with eval.patience it keeps the model of the lowest validation error.
func (t *entrant) score(rec *record.Round) (float64, error) {
	d := t.driver
	if d.setup.Unscored {
		if best, _ := result.Stale(t.curve, 0); d.setup.Config.Eval.Patience > 0 && best != nil && best.Round == t.Rounds() {
			return math.NaN(), t.Keep(*best.ValError)
		}
		return math.NaN(), nil
	}
	if math.IsNaN(float64(rec.Score)) && d.setup.Config.MayLackScores() {
		if math.IsNaN(t.last) { // the trial has trained nobody
			return fl.WorstScore(d.errorMeasure == result.MeasureRMSE).Metric(d.objective.Metric), nil
		}
		return t.last, nil // a draw without any client, or with one class alone, tells nothing
	}
	if math.IsNaN(float64(rec.Score)) {
		return 0, fmt.Errorf("trial %d, round %d: no client of the cohort has validation samples to score on; enlarge the cohort or change data.split", t.Number, t.Rounds())
	}
	score := float64(rec.Score)
	if t.hit = d.setup.Config.ToGoal() && score <= float64(d.setup.Config.Budget.TrialSeconds); !t.hit {
		score = t.mean.Add(score, d.setup.Config.Discount())
	}
	of := roundValue(rec)
	if d.setup.account != nil {
		of = t.expected(rec, d.setup.Config.Cohort)
	}
	t.add(d.aims, score, d.setup.Config.Discount(), of)
	if d.objective.Better(score, t.floor) && d.objective.Better(score, t.BestScore()) {
		return score, t.Keep(score)
	}
	return score, nil
}

// mostRounds is how many rounds a trial has at most where its budget is not in rounds.
const mostRounds = 1_000_000

// spent is how much of its budget the trial has used: rounds, whole simulated seconds, or
// updates.
func (t *entrant) spent() int {
	switch {
	case t.driver.budget.InRounds():
		return t.Rounds()
	case t.Rounds() >= mostRounds:
		return t.driver.budget.TrialRounds
	case t.driver.budget.Updates:
		return min(t.taken, t.driver.budget.TrialRounds)
	}
	return int(min(t.clock(), float64(t.driver.budget.TrialRounds)))
}

// clock is the trial's simulated time, 0 before the first round and without a fleet.
func (t *entrant) clock() float64 {
	if t.fleet == nil {
		return 0
	}
	return t.fleet.Clock
}

// length is how long the trial ran up to its last rung, in what its budget counts.
func (t *entrant) length() int {
	if r := t.rungs[len(t.rungs)-1]; !t.driver.budget.InRounds() {
		return r.At()
	}
	return t.Rounds()
}

// whole reports whether the trial has used all that a trial may.
func (t *entrant) whole() bool { return t.spent() >= t.driver.budget.TrialRounds }

// reached reports whether the trial ends early: at its goal, out of patience, or out of
// time.
func (t *entrant) reached() bool {
	if t.hit {
		return true
	}
	if most := t.driver.setup.Config.Budget.TrialSeconds; most > 0 && !t.driver.setup.Unscored && t.clock() >= float64(most) {
		return true
	}
	if !t.driver.lone && !t.driver.setup.Unscored {
		return false
	}
	eval := t.driver.setup.Config.Eval
	if eval.Goal > 0 && result.Reached(t.curve, eval.Goal) != nil {
		return true
	}
	if most := t.driver.setup.Config.Time.Seconds; most > 0 && t.clock() >= most {
		return true
	}
	_, stale := result.Stale(t.curve, eval.Patience)
	return stale
}

// rung ends a segment that has reached its round, or the goal.
func (t *entrant) rung(ctx context.Context, to int, score float64, emit func(Event)) error {
	t.mean = result.Discounted{}
	if err := t.Pause(ctx, t.reached() || t.whole()); err != nil || t.driver.setup.Unscored {
		return err
	}
	rung := result.Rung{Round: t.Rounds(), Score: score, Values: t.worth.rung(t.driver.setup.account, t.Rounds())}
	switch b := t.driver.budget; {
	case b.Seconds: // a trial that ends early has begun its last second
		rung.Second = min(to, t.spent()+1)
	case b.Updates:
		rung.Update = max(1, min(to, t.spent()))
	}
	if !t.driver.budget.InRounds() && !t.Reference {
		t.driver.mu.Lock()
		t.driver.units += max(0, rung.At()-t.counted)
		t.counted = max(t.counted, rung.At())
		t.driver.mu.Unlock()
	}
	t.rungs = append(t.rungs, rung)
	emit(Event{Event: "rung", Trial: t.Number, Reference: t.Reference, Round: rung.Round, Second: rung.Second, Update: rung.Update, Score: &score, Values: rung.Values})
	return t.CloseRung(score, rung.Values)
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
		Event: "round", Trial: t.Number, Reference: t.Reference, Round: t.Rounds(), TrainLoss: &loss, Steps: rec.Steps, Examples: rec.Examples, Dropped: rec.Dropped,
		Down: rec.Down, Up: rec.Up, Attackers: rec.Attackers,
		DroppedSlots: rec.DroppedSlots, Params: rec.Params, TestError: rec.TestError.Pointer(),
		ValError: rec.ValError.Pointer(), Epsilon: rec.Epsilon.Pointer(), Unseen: rec.Unseen.Pointer(),
		OtherScore: rec.Other.Pointer(),
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

// report is the report at the end of a segment.
func (t *entrant) report() tuners.TrialReport {
	if p := t.Phase(); p == trial.Failed || p == trial.Ended {
		return tuners.TrialReport{Trial: t.Number, Round: t.spent(), Score: math.NaN(), Failed: true, Reason: t.Reason()}
	}
	rung := t.rungs[len(t.rungs)-1]
	return tuners.TrialReport{Trial: t.Number, Round: rung.At(), Score: rung.Score, Values: rung.Values}
}

// result is the trial's row of the study's result.
func (t *entrant) result() result.TrialResult {
	r := result.TrialResult{
		Number: t.Number, State: result.Completed, Params: t.Params, Rounds: t.Rounds(), Rungs: t.rungs, Dropped: t.dropped, Loss: t.loss, Curve: t.curve, Fleet: t.fleet,
	}
	if n := len(t.rungs); n > 0 {
		r.Score = t.rungs[n-1].Score
	}
	if t.hit {
		r.SecondsToGoal = &t.last
	}
	if t.Source != nil {
		r.Source = &t.Source.Number
	}
	switch t.Phase() {
	case trial.Ended:
		r.State, r.Stopped = result.Pruned, t.Reason()
	case trial.Failed:
		r.State, r.Failed = result.Failed, t.Reason()
	case trial.Stopped:
		if !t.whole() {
			r.State = result.Pruned
		}
	default:
	}
	return r
}
