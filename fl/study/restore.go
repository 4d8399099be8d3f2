package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/fedfast/fedfast/fl"
)

// recordPage is how many recorded rounds are read at a time.
const recordPage = 64

// recorded returns the record of the round that brought, or brings, the trial
// from round rounds to the next; nil when there is none.
func (t *trial) recorded(ctx context.Context, round int) (*roundRecord, error) {
	data, err := t.recordedData(ctx, round)
	if err != nil || data == nil {
		return nil, err
	}
	return decode[roundRecord](KindRound, data)
}

// recordedData is the record of a round as it is stored.
func (t *trial) recordedData(ctx context.Context, round int) ([]byte, error) {
	h := t.driver.history
	if round >= t.past.rounds {
		return nil, nil
	}
	for len(t.page) > 0 && t.page[0].Round <= round {
		t.page = t.page[1:]
	}
	if len(t.page) == 0 || t.page[0].Round != round+1 {
		var err error
		if t.page, err = h.store.Rows(ctx, t.number, KindRound, round+1, max(t.upTo, h.upTo), recordPage); err != nil {
			return nil, err
		}
	}
	if len(t.page) == 0 || t.page[0].Round != round+1 {
		return nil, fmt.Errorf("trial %d: round %d is missing in the record", t.number, round+1)
	}
	return t.page[0].Data, nil
}

// recordedPlan returns the recorded plan of a round, nil when there is none.
func (t *trial) recordedPlan(ctx context.Context, round int) ([]byte, error) {
	h := t.driver.history
	if h.store == nil || round > t.past.rounds {
		return nil, nil
	}
	rows, err := h.store.Rows(ctx, t.number, KindPlan, round+1, max(t.upTo, h.upTo), 1)
	if err != nil || len(rows) == 0 || rows[0].Round != round+1 {
		return nil, err
	}
	return rows[0].Data, nil
}

// reread makes rounds that were run elsewhere, of which this process has nothing but
// the record, recorded ones.
func (t *trial) reread() error {
	h := t.driver.history
	if t.driver.setup.Trainer == nil {
		return nil
	}
	t.past.rounds, t.page = max(t.past.rounds, t.rounds), nil
	err := h.flush()
	t.upTo = h.store.Seq()
	return err
}

// materialize brings the trial's weights to the round that the trial has reached
// by its record.
func (t *trial) materialize(ctx context.Context) error {
	if t.train != nil {
		return nil
	}
	tr, err := t.driver.restore(ctx, t, t.rounds)
	t.train = tr
	return err
}

// restore returns the training of a trial as it was after a number of rounds: from
// its newest whole snapshot before, or from its beginning, the rounds from there
// on being run again from the recorded plans. What they measure must equal the
// record.
func (d *driver) restore(ctx context.Context, t *trial, rounds int) (*fl.Trial, error) {
	if err := t.reread(); err != nil {
		return nil, err
	}
	tr, err := d.startingPoint(ctx, t, rounds)
	if err != nil {
		return nil, err
	}
	return tr, d.catchUp(ctx, t, here{d, tr}, rounds)
}

// catchUp brings a training to a round by running the recorded ones again.
func (d *driver) catchUp(ctx context.Context, t *trial, tr training, rounds int) error {
	for tr.Rounds() < rounds {
		if err := d.repeat(ctx, t, tr); err != nil {
			return err
		}
		if c := &t.best; tr.Rounds() == c.round && c.trial == t && c.weights == nil && !d.hasCandidate(*c) {
			tr.keep(c)
		}
	}
	return nil
}

// startingPoint returns the newest state of a trial at a round or before that
// can be had without training it.
func (d *driver) startingPoint(ctx context.Context, t *trial, rounds int) (*fl.Trial, error) {
	names, err := d.snapshotsOf(t.number, rounds)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		tr, err := d.loadTrial(name)
		switch {
		case err == nil:
			return tr, nil
		case errors.Is(err, fs.ErrNotExist):
		default:
			d.setup.log().Warn("a snapshot cannot be used; an earlier state is used and its rounds are run again", "why", err)
		}
	}
	if t.source != nil {
		source, err := d.restore(ctx, t.source, t.base)
		if err != nil {
			return nil, err
		}
		return d.fork(source, t.number)
	}
	return d.engine.NewTrial(t.number), nil
}

// fork returns a copy of a training under another number.
func (d *driver) fork(source *fl.Trial, number int) (*fl.Trial, error) {
	s := source.Snapshot()
	s.Number = number
	return d.engine.Restore(s)
}

// copyOf forks a trial as it is.
func (d *driver) copyOf(ctx context.Context, source *trial, number int) (*fl.Trial, error) {
	if err := source.materialize(ctx); err != nil {
		return nil, err
	}
	return d.fork(source.train, number)
}

// repeat runs a recorded round again.
func (d *driver) repeat(ctx context.Context, t *trial, tr training) error {
	round := tr.Rounds()
	plan := t.own()
	if t.session != nil {
		data, err := t.recordedPlan(ctx, round)
		if err != nil {
			return err
		}
		if plan, err = t.planOf(data); err != nil {
			return err
		}
	}
	rec, err := tr.round(ctx, plan, t.probes)
	if err != nil {
		return err
	}
	t.told(rec, plan)
	again, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	want, err := t.recordedData(ctx, round)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, want) {
		return fmt.Errorf("trial %d, round %d: repeated from its recorded plan, it measures %s instead of the recorded %s; the study was started by another version of fedfast, on other data or on another kind of CPU",
			t.number, round+1, again, want)
	}
	return nil
}
