package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Spec is what does not change in a trial.
type Spec struct {
	Number int
	Params tuners.Params
	Source *Trial // that it was forked from, nil for none
	// Reference is set for the trial of the configured values, without a client tuner.
	Reference bool
	base      int // the rounds that it had then

	workingBase int // clients at work then
}

// Trial is a trial of a study. But for Phase and Reason it is for one goroutine at a time.
type Trial struct {
	Spec
	study    *Study
	past     *replay.Trial
	session  *session  // the client tuner's, nil without one
	private  private   // how the newest round's clients took its plan
	train    *fl.Trial // nil while rounds come from the record or are run elsewhere, or when dropped
	away     *away     // where else the trial trains, nil for nowhere
	rounds   int
	working  int   // clients at work on a fleet after the last round
	best     Model // of the segment at work
	stored   stored
	released bool                                    // the tuner will not fork it any more
	Spared   bool                                    // its last model may be asked for after Stop, see Forgo
	held     bool                                    // its weights wait in memory
	Repeated int                                     // rounds up to which it was trained again, equal to the record
	each     func(round int, weights []float32) bool // see Watch

	state
}

// state is the phase of a trial.
type state struct {
	mu     sync.Mutex // guards what follows
	phase  Phase
	reason string
}

// Open starts a trial, with fresh weights or as a copy of its source. Its weights
// and the client tuner's session come when they are needed.
func (s *Study) Open(ctx context.Context, spec Spec) (*Trial, error) {
	if spec.Params == nil {
		spec.Params = tuners.Params{} // as a tuner's answer has it; the record leaves it out
	}
	number, params, source := spec.Number, spec.Params, spec.Source
	h, err := s.Hyper.of(params)
	if err == nil {
		err = s.Hyper.Method.CheckParams(h.Client, h.Server)
	}
	if err != nil {
		return nil, fmt.Errorf("trial %d: %w", number, err)
	}
	t := &Trial{study: s, Spec: spec, past: s.Past.Trial(number)}
	rec := &record.Trial{Params: params, Reference: spec.Reference}
	if source != nil {
		t.base, t.rounds, t.workingBase, t.working = source.rounds, source.rounds, source.working, source.working
		rec.Source = &source.Number
	}
	if s.Client != nil && !spec.Reference {
		if err := t.openSession(ctx); err != nil {
			return nil, err
		}
		rec.Probes = t.session.probes
	}
	if t.past != nil {
		if t.past.Opened == nil {
			return nil, fmt.Errorf("the record is damaged: it has rounds of trial %d, but not its row", number)
		}
		have := t.past.Opened
		if !have.Params.Equal(params) {
			return nil, fmt.Errorf("trial %d: its recorded rounds have other params, %v", number, have.Params)
		}
		if have.Reference != spec.Reference || (have.Source == nil) != (source == nil) ||
			source != nil && *have.Source != source.Number {
			return nil, fmt.Errorf("trial %d: it is recorded as a copy of another trial, or of none", number)
		}
		t.past.Rounds = max(t.past.Rounds, t.base)
		return t, nil
	}
	if t.past, err = s.Past.NewTrial(number, t.base, rec); err != nil {
		return nil, err
	}
	if source == nil {
		if t.session != nil {
			t.session.Rest() // it has told its probes
		}
		return t, nil
	}
	// The source may run on before the copy does.
	from := source.train
	if from == nil {
		if from, err = source.restore(ctx, source.rounds); err != nil {
			return nil, err
		}
	}
	if t.train, err = s.fork(from, number); err != nil {
		return nil, err
	}
	return t, t.Save(ctx)
}

// Hyper returns the hyperparameters that the trial starts from: the study's with its Params.
func (t *Trial) Hyper() hyper.Values {
	h, _ := t.study.Hyper.of(t.Params) // Open has checked them
	return h
}

// Rounds returns how many rounds the trial has run.
func (t *Trial) Rounds() int { return t.rounds }

// Base returns how many rounds the trial took over from its source, 0 without one.
func (t *Trial) Base() int { return t.base }

// Recorded reports whether the next round is recorded.
func (t *Trial) Recorded() bool { return t.rounds < t.past.Rounds }

// Begin begins a segment.
func (t *Trial) Begin() error {
	t.best = Model{Score: math.NaN(), Trial: t}
	t.stored.at = time.Now()
	t.unhold()
	return t.transition(Replaying, "")
}

// Pause ends a segment; completed means that it was the trial's last. It stores the trial
// if that is worth it, and brings its best model here if that may be kept. Until the trial
// goes on it holds no session and no weights that can be had again.
func (t *Trial) Pause(ctx context.Context, completed bool) error {
	to := Waiting
	if completed {
		to = Completed
	}
	if err := t.transition(to, ""); err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	if t.session != nil {
		t.session.Rest()
	}
	if t.worthwhile() || t.train != nil && t.study.held.Load() >= int64(t.study.Stored.Held) {
		if err := t.Save(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	if t.study.Meter.Unscored || t.train == nil {
		return nil
	}
	if t.stored.round == t.rounds {
		t.Free()
	} else {
		t.held = true
		t.study.held.Add(1)
	}
	return nil
}

// unhold counts the trial no more among those whose weights wait in memory.
func (t *Trial) unhold() {
	if t.held {
		t.held = false
		t.study.held.Add(-1)
	}
}

// CloseRung records the score at the end of a segment, and the values of several objectives.
func (t *Trial) CloseRung(score float64, values map[string]float64) error {
	if t.past.Rungs[t.rounds] {
		return nil
	}
	return t.study.Past.Append(store.KindRung, t.Number, t.rounds, record.Rung{Score: record.Real(score), Values: record.Reals(values)})
}

// Keep takes the model as it is for its segment's best.
func (t *Trial) Keep(score float64) error {
	t.best.Score, t.best.Round, t.best.State = score, t.rounds, nil
	switch {
	case t.away != nil:
		t.away.keep(&t.best)
	case t.train != nil:
		here{t.study, t.train}.keep(&t.best)
	default: // its weights may never be needed; if so, they can be had
		t.best.Weights = nil
		return nil
	}
	if t.session == nil || !t.session.Awake() {
		return nil
	}
	var err error
	t.best.State, err = t.session.Keep(bestSlot)
	return err
}

// BestScore is the score of the best model that the segment has kept, NaN for none.
func (t *Trial) BestScore() float64 { return t.best.Score }

// TakeBest returns the best model that the segment has kept, whose Score is NaN for none,
// and forgets it.
func (t *Trial) TakeBest() Model {
	m := t.best
	t.best = Model{}
	return m
}

// Stop ends the trial's rounds as the tuner decided. What only further rounds need is
// freed, unless the trial is Spared or a tuner that forks may still copy it. A trial that has
// ended otherwise stays as it is: its tuner may stop it nevertheless.
func (t *Trial) Stop() error {
	if t.Phase() > Completed {
		return nil
	}
	if err := t.transition(Stopped, ""); err != nil {
		return err
	}
	if !t.Spared {
		t.CloseSession()
	}
	return t.dropUnused()
}

// Release notes that the tuner will not fork the trial.
func (t *Trial) Release() error {
	t.released = true
	return t.dropUnused()
}

// Forgo notes that nobody will ask for the last model of a trial that was stopped.
func (t *Trial) Forgo() error {
	t.Spared = false
	return t.dropUnused()
}

// dropUnused drops a trial that was stopped and that nothing needs any more.
func (t *Trial) dropUnused() error {
	if t.Phase() != Stopped || t.Spared || t.study.Forks && !t.released {
		return nil
	}
	t.CloseSession()
	return t.drop()
}

// End ends the trial as a user wanted.
func (t *Trial) End(ctx context.Context, reason string) error {
	if err := t.settle(ctx); err != nil {
		return err
	}
	return t.abandon(Ended, reason)
}

// Note notes that a user has ended the trial, which will not run again.
func (t *Trial) Note(reason string) error { return t.transition(Ended, reason) }

// Fail ends a trial that cannot go on.
func (t *Trial) Fail(f *FailError) error {
	if t.past.Fail == nil {
		log := t.study.Log
		if f.Stack != "" {
			log = log.With("stack", f.Stack)
		}
		log.Error("a trial failed and is given up", "trial", t.Number, "reason", f.Reason)
		if err := t.study.Past.Append(store.KindFail, t.Number, t.rounds, f.Fail); err != nil {
			return err
		}
	}
	return t.abandon(Failed, f.Reason)
}

func (t *Trial) abandon(to Phase, reason string) error {
	if err := t.transition(to, reason); err != nil {
		return err
	}
	t.CloseSession()
	return t.drop()
}

// CloseSession ends the client tuner's session, if it is open.
func (t *Trial) CloseSession() {
	if t.session != nil {
		t.session.Close()
	}
}

// drop frees the weights and deletes the snapshots but those of models, and the last one
// of a trial that other studies may resume.
func (t *Trial) drop() error {
	t.Free()
	if t.study.Stored.Last {
		return t.Prune(1)
	}
	return t.Prune(0)
}

// Free frees the weights.
func (t *Trial) Free() {
	t.train = nil
	t.unhold()
}

// Weights and Memory belong to the trial after its last round, Memory that of the
// method. Load has them.
func (t *Trial) Weights() []float32 { return t.train.Weights() }

// Memory is the method's, see Weights.
func (t *Trial) Memory() *fl.State { return t.train.State() }

// Measured returns what is recorded of the n-th time that sub-networks of the trial were
// scored, from 0.
func (t *Trial) Measured(n int) ([]tuners.Measured, bool) { return t.past.Measured(n) }

// Probes are those that the client tuner observes.
func (t *Trial) probes() []string {
	if t.session == nil {
		return nil
	}
	return slices.Clip(t.session.probes)
}
