package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
)

// Load brings the trial's weights to the round that the trial has reached by its record.
func (t *Trial) Load(ctx context.Context) (err error) {
	if t.train == nil {
		t.train, err = t.restore(ctx, t.rounds)
	}
	return err
}

// restore returns the training of a trial as it was after a number of rounds: from
// its newest whole snapshot before, or from its beginning, the rounds from there
// on being run again from the recorded plans. What they measure must equal the
// record.
func (t *Trial) restore(ctx context.Context, rounds int) (*fl.Trial, error) {
	tr, err := t.startingPoint(ctx, rounds)
	if err != nil {
		return nil, err
	}
	return tr, t.catchUp(ctx, here{t.study, tr}, rounds)
}

// catchUp brings a training to a round by running the recorded ones again, those of this
// process, too.
func (t *Trial) catchUp(ctx context.Context, tr training, rounds int) error {
	if tr.Rounds() < rounds {
		if err := t.past.Reread(t.rounds); err != nil {
			return err
		}
	}
	for tr.Rounds() < rounds {
		if err := t.repeat(ctx, tr); err != nil {
			return err
		}
		if m := &t.best; tr.Rounds() == m.Round && m.Trial == t && m.Weights == nil && !m.stored() {
			tr.keep(m)
		}
	}
	return nil
}

// startingPoint returns the newest state of a trial at a round or before that
// can be had without training it.
func (t *Trial) startingPoint(ctx context.Context, rounds int) (*fl.Trial, error) {
	names, err := t.snapshots(rounds)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		tr, err := t.study.loadTrial(name)
		if err == nil {
			if name == fmt.Sprintf(trialSnapshot, t.Number, tr.Rounds()) {
				return tr, nil
			}
			err = fmt.Errorf("%s: it is of round %d", name, tr.Rounds())
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.study.Log.Warn("a snapshot cannot be used; an earlier state is used and its rounds are run again", "why", err)
		}
	}
	if t.Source != nil {
		source, err := t.Source.restore(ctx, t.base)
		if err != nil {
			return nil, err
		}
		return t.study.fork(source, t.Number)
	}
	return t.study.Engine.NewTrial(t.Number), nil
}

// fork returns a copy of a training under another number.
func (s *Study) fork(source *fl.Trial, number int) (*fl.Trial, error) {
	snapshot := source.Snapshot()
	snapshot.Number = number
	return s.Engine.Restore(snapshot)
}

// DifferError is the error of a row of a record that was made again and is not the recorded one.
type DifferError struct {
	// What is its kind, such as store.KindRound, Trial and Round say which, from 1. Now is the new row,
	// Recorded the other one, {} for none.
	What          string
	Trial, Round  int
	Now, Recorded []byte
}

// Error shows both rows.
func (e *DifferError) Error() string {
	if e.What != store.KindRound {
		return fmt.Sprintf("%s of trial %d after round %d is %s, not %s", e.What, e.Trial, e.Round, e.Now, e.Recorded)
	}
	return fmt.Sprintf("trial %d, round %d: repeated from its recorded plan, it measures %s instead of the recorded %s; "+
		"the study was started by another version of fedfast, on other data or on another kind of CPU",
		e.Trial, e.Round, e.Now, e.Recorded)
}

// Watch receives what a trial that is trained again does. The zero value receives nothing.
type Watch struct {
	// Trace receives how a client trains in the last round, Each the global weights after every round, which
	// are valid until it returns; false ends the training.
	Trace *fl.Trace
	Each  func(round int, weights []float32) bool
}

// Verify trains the trial again from its beginning up to a round, which must be recorded. Another
// record than that of the study is a *DifferError.
func (t *Trial) Verify(ctx context.Context, to int, w Watch) error {
	if w.Trace != nil {
		rec, err := t.past.Round(ctx, to-1)
		switch {
		case err != nil:
			return err
		case to <= t.base || rec == nil:
			return fmt.Errorf("trial %d has no round %d, but %d to %d", t.Number, to, t.base+1, t.rounds)
		case !slices.Contains(rec.Clients, w.Trace.Client):
			return fmt.Errorf("client %d did not train in round %d of trial %d, but %v",
				w.Trace.Client, to, t.Number, rec.Clients)
		}
	}
	if to <= t.base {
		return nil
	}
	t.each = w.Each
	tr, err := t.restore(ctx, to-1)
	if err != nil {
		return err
	}
	tr.Trace(w.Trace)
	return t.repeat(ctx, here{t.study, tr})
}

// repeat runs a recorded round again.
func (t *Trial) repeat(ctx context.Context, tr training) error {
	round := tr.Rounds()
	plan := t.Own()
	if t.session != nil {
		data, err := t.past.Plan(ctx, round)
		if err != nil {
			return err
		}
		if plan, err = t.planOf(data, round); err != nil {
			return err
		}
	}
	want, err := t.past.RoundData(ctx, round)
	if err != nil {
		return err
	}
	_, err = tr.round(ctx, plan, t.probes(), func(rec *record.Round) error {
		t.noteParams(rec, plan)
		t.privatize(rec, round)
		again, same, err := rec.Equals(want)
		if err != nil || same {
			return err
		}
		return &DifferError{store.KindRound, t.Number, round + 1, again, want}
	})
	if err != nil {
		return err
	}
	t.Repeated = max(t.Repeated, round+1)
	if at, ok := tr.(here); ok && t.each != nil && !t.each(round+1, at.Weights()) {
		return context.Canceled
	}
	return nil
}
