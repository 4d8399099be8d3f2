package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Trainer has trials trained elsewhere, such as on the machines of a cluster. What
// comes of them has the same bits, so it decides about nothing but the time.
type Trainer interface {
	// Place begins the training of a trial, or resumes it, once there is room. start
	// is called then; it returns the state to begin from, nil for that of a trial
	// that has run no round. It may be called again during calls of the Training's
	// Round.
	Place(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (Training, error)
}

// Sharer is a Trainer whose workers can also train one round together, in parts, and
// evaluate models together. Such a trial is in this process, which splits its rounds and
// adds up what the workers send.
type Sharer interface {
	Trainer
	shard.Engines
	// Shares reports whether the next round of a trial is trained in parts. It may depend
	// on the clock: a round has the same bits in both ways.
	Shares(trial int) bool
}

// sharer is the set-up's Trainer if that can have rounds trained in parts, else nil.
func (s *Setup) sharer() Sharer {
	sharer, _ := s.Trainer.(Sharer)
	return sharer
}

// audited returns what was trained twice, nil for nothing.
func (s *Setup) audited() *result.ClusterAudit {
	if t, ok := s.Trainer.(interface{ Audited() *result.ClusterAudit }); ok {
		return t.Audited()
	}
	return nil
}

// Training is the training of one trial elsewhere. An error of it that is an
// ErrLost means that the trial must be placed anew.
type Training interface {
	// Round runs the trial's next round, after the given number of rounds, by a plan
	// and returns its record, as Job.Round makes it. An *shard.PanicError ends the trial,
	// not the study. check returns why a record cannot be right.
	Round(ctx context.Context, rounds int, plan fl.Plan, observed []string, check func(record []byte) error) ([]byte, error)
	// Keep has the model kept as it is now, instead of the one kept before.
	Keep()
	// Fetch returns the model that was kept and the trial's state, as far as they
	// are asked for. check returns why they cannot be right.
	Fetch(ctx context.Context, kept, state bool, check func(model, trial *fl.Snapshot) error) (model, trial *fl.Snapshot, err error)
	// Leaving reports whether the trial must soon be placed anew, and should be fetched
	// before.
	Leaving() bool
	// End gives the place back.
	End()
}

// ErrLost is the error of a trial whose worker is gone.
var ErrLost = trial.ErrLost

// away is the set-up's Trainer as its trials use it.
func (s *Setup) away() (a trial.Away) {
	if s.Trainer != nil {
		a.Place = func(ctx context.Context, number int, start func() (*fl.Snapshot, error)) (trial.Remote, error) {
			return s.Trainer.Place(ctx, number, start)
		}
	}
	if sharer := s.sharer(); sharer != nil {
		a.Shares = sharer.Shares
	}
	return a
}

// entrants are the trials of a study by their numbers, and how far they are.
type entrants struct {
	mu     sync.Mutex // guards what follows
	trials []*entrant
	rounds int
	units  int // spent of a budget in seconds or updates
}

// add takes in a trial, whose number is the next.
func (e *entrants) add(t *entrant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.trials = append(e.trials, t)
}

// trial returns the one with a number, nil if there is no such trial.
func (e *entrants) trial(number int) *entrant {
	e.mu.Lock()
	defer e.mu.Unlock()
	if number < 0 || number >= len(e.trials) {
		return nil
	}
	return e.trials[number]
}

// count counts rounds of all trials.
func (e *entrants) count(rounds int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rounds += rounds
}

// left counts the trials that are not over. e.mu is held.
func (e *entrants) left() (n int) {
	for _, t := range e.trials {
		if !t.Phase().Over() {
			n++
		}
	}
	return n
}

// leader is the standing of the best trial so far; failed ones have none. e.mu is held.
func (e *entrants) leader(aim tuners.Objective) result.Standing {
	best := result.Standing{Score: math.NaN()}
	for _, t := range e.trials {
		if t.standing.Rounds > 0 && !t.Reference && t.Phase() != trial.Failed && t.standing.Before(best, aim) {
			best = t.standing
		}
	}
	return best
}

// spend counts the seconds or updates of a trial on its way to a rung, in which no trial
// spends more. d.mu is held.
func (d *driver) spend(t *entrant, to int) {
	now := max(t.counted, min(t.spent(), to))
	d.units += now - t.counted
	t.counted = now
}

// roundDone counts a round and reports the progress.
func (d *driver) roundDone(t *entrant, to int, r *record.Round, score float64) {
	own, mode := float64(r.Score), config.ModeTune
	if d.setup.Unscored {
		own, mode = math.NaN(), config.ModeRun
	}
	p := Progress{
		Trial: t.Number, TrialRound: min(t.spent(), to), ToRound: to, Rung: len(t.rungs) + 1, Rounds: d.budget.Rounds, Loss: float64(r.TrainLoss), Dropped: r.Dropped,
		Measure: d.errorMeasure, Target: d.setup.Config.Measures(mode), Score: score, Scale: result.ScaleOf(&d.setup.Config, d.errorMeasure),
	}
	if t.Phase() == trial.Training {
		p.Clients = len(r.Clients)
		d.setup.wall.round()
	}
	if t.fleet != nil {
		fleet := *t.fleet
		p.Fleet = &fleet
	}
	if n := len(t.curve); n > 0 {
		p.TestError = &t.curve[n-1].TestError
		if at := t.curve[n-1].Round; at < t.Rounds() {
			p.TestRound = at
		}
	}
	d.mu.Lock()
	if !t.Reference {
		d.rounds++
		d.spend(t, to)
	}
	if d.setup.Config.ToGoal() { // rounds before the goal say nothing of the time to it
		t.recent = result.Recent{}
	}
	t.recent.Add(own, len(r.Clients))
	t.standing = t.recent.Standing(t.Number, t.Rounds(), len(t.rungs) > 0 || t.spent() >= to)
	if p.Round, p.Unit = d.rounds, d.setup.Config.Budget.Unit(); !d.budget.InRounds() {
		p.Round = d.units
	}
	if most := d.setup.Config.Time.Seconds; most > 0 && d.budget.InRounds() && t.clock() > 0 && (d.lone || d.setup.Unscored) { // ends sooner, about
		p.Rounds = int(min(float64(p.Rounds), max(float64(p.Round), math.Ceil(most/t.clock()*float64(p.Round)))))
		p.ToRound = min(to, p.Rounds)
	}
	if t.Reference {
		p.Reference, p.Round, p.Rounds = true, p.TrialRound, to
	}
	p.Best, p.Trials, p.TrialsLeft = d.leader(d.objective), len(d.trials), d.left()
	d.mu.Unlock()
	if a := d.setup.account; a != nil {
		rounds := p.Round
		if a.Whole() { // trials in parallel have all begun
			rounds = a.Rounds
		}
		p.Epsilon = new(a.Shown(rounds))
	}
	d.setup.Observer.Progress(p)
}

// ErrWall is wrapped by the error of a Tune that stopped at budget.wall_seconds. The study
// is as after an interruption: it can be resumed.
var ErrWall = errors.New("stopped at budget.wall_seconds")

// wall ends the work on a study when its wall time is over and a round was trained. Nothing
// that is decided depends on it, except where the work stops.
type wall struct {
	seconds float64
	cancel  context.CancelCauseFunc
	timer   *time.Timer

	over, trained atomic.Bool
}

// newWall returns a context that ends when a limit does, 0 for none, from start on.
func newWall(ctx context.Context, seconds float64) (context.Context, *wall) {
	w := &wall{seconds: seconds}
	ctx, w.cancel = context.WithCancelCause(ctx)
	return ctx, w
}

// start begins to count, once the study is recorded and so can be resumed.
func (w *wall) start() {
	if w != nil && w.seconds > 0 {
		most := time.Duration(min(w.seconds, 1e9) * float64(time.Second))
		w.timer = time.AfterFunc(most, func() {
			w.over.Store(true)
			w.check()
		})
	}
}

// round takes note of a round that was trained; w may be nil.
func (w *wall) round() {
	if w != nil {
		w.trained.Store(true)
		w.check()
	}
}

// check ends the work when it is time.
func (w *wall) check() {
	if w.over.Load() && w.trained.Load() {
		w.cancel(ErrWall)
	}
}

// end stops counting.
func (w *wall) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}

// stopped turns the error of a study that ended with its context into ErrWall, if that is
// why, and records it.
func (w *wall) stopped(ctx context.Context, past *replay.Past, err error) error {
	if !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(ctx), ErrWall) {
		return err
	}
	if past != nil {
		if failed := past.Append(store.KindPause, tuners.StudySession, 0, map[string]float64{"wall_seconds": w.seconds}); failed != nil {
			return failed
		}
		if failed := past.Flush(); failed != nil {
			return failed
		}
	}
	return fmt.Errorf("%w = %g", ErrWall, w.seconds)
}
