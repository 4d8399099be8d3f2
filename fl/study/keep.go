package study

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl"
)

// The names of snapshots sort by trial and round.
const (
	trialSnapshot     = "trial-%06d-round-%08d"
	candidateSnapshot = candidatePrefix + "%06d-round-%08d"
	candidatePrefix   = "best-"
)

// generations is how many snapshots of a running trial are kept, so that the
// one before stands in for a damaged one.
const generations = 2

// snapshots is what a trial has stored.
type snapshots struct {
	at    time.Time     // of the last one, or when the segment began
	round int           // of the last one
	spent time.Duration // on training since then
}

// worthwhile reports whether the rounds since the last snapshot took long enough to
// be spared from being run again.
func (t *trial) worthwhile() bool { return t.kept.spent >= t.driver.setup.snapshotEvery()/30 }

// save stores the trial's state and its segment's best model, unless the record has
// led it here or nothing has changed.
func (t *trial) save(ctx context.Context) error {
	d := t.driver
	if d.history.store == nil || !t.trains() || t.kept.round == t.rounds {
		return nil
	}
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	if err := d.saveCandidate(ctx, &t.best); err != nil {
		return err
	}
	err = d.history.store.WriteSnapshot(fmt.Sprintf(trialSnapshot, t.number, t.rounds), func(w io.Writer) error {
		_, err := s.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	t.kept = snapshots{at: time.Now(), round: t.rounds}
	return t.prune(generations)
}

// prune deletes all but the newest snapshots of the trial.
func (t *trial) prune(keep int) error {
	if t.driver.history.store == nil {
		return nil
	}
	names, err := t.driver.snapshotsOf(t.number, t.rounds)
	if err != nil {
		return err
	}
	for _, name := range names[min(keep, len(names)):] {
		if err := t.driver.history.store.RemoveSnapshot(name); err != nil {
			return err
		}
	}
	return nil
}

// snapshotsOf returns the names of a trial's snapshots at a round or before, the
// newest first.
func (d *driver) snapshotsOf(trial, rounds int) ([]string, error) {
	if d.history.store == nil {
		return nil, nil
	}
	all, err := d.history.store.Snapshots()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		var number, round int
		if n, _ := fmt.Sscanf(name, trialSnapshot, &number, &round); n == 2 && number == trial && round <= rounds {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return names, nil
}

// loadTrial reads a trial's snapshot.
func (d *driver) loadTrial(name string) (*fl.Trial, error) {
	var tr *fl.Trial
	err := d.history.store.ReadSnapshot(name, func(r io.Reader) error {
		s, err := fl.ReadSnapshot(r)
		if err == nil {
			tr, err = d.engine.Restore(*s)
		}
		return err
	})
	return tr, err
}

// candidateHead stands before the weights in the snapshot of a candidate.
type candidateHead struct {
	Trial int    `json:"trial"`
	Round int    `json:"round"`
	State []byte `json:"state"` // of the client tuner's session
}

func (c *candidate) name() string { return fmt.Sprintf(candidateSnapshot, c.trial.number, c.round) }

// saveCandidate stores a model that may be returned, unless it is stored.
func (d *driver) saveCandidate(ctx context.Context, c *candidate) error {
	if d.history.store == nil || c.weights == nil || c.saved == c.name() {
		return nil
	}
	if err := d.complete(ctx, c); err != nil {
		return err
	}
	head, err := json.Marshal(candidateHead{c.trial.number, c.round, c.state})
	if err != nil {
		return err
	}
	s := fl.Snapshot{
		Model: d.setup.Model.Name(), Method: d.method.Name, Layout: d.engine.Layout(), Number: c.trial.number, Round: c.round, Weights: c.weights,
	}
	c.memory.AddTo(&s)
	err = d.history.store.WriteSnapshot(c.name(), func(w io.Writer) error {
		if _, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...)); err != nil {
			return err
		}
		_, err := s.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	old := c.saved
	c.saved = c.name()
	return d.removeCandidate(old)
}

// removeCandidate deletes the snapshot of a model that a better one has replaced.
func (d *driver) removeCandidate(name string) error {
	if d.history.store == nil || name == "" {
		return nil
	}
	return d.history.store.RemoveSnapshot(name)
}

// complete finds the state of the client tuner's session that belongs to a
// candidate.
func (d *driver) complete(ctx context.Context, c *candidate) (err error) {
	if c.state == nil && c.trial.session != nil {
		c.state, err = c.trial.session.stateAt(ctx, 2*(c.round-c.trial.base))
	}
	return err
}

// hasCandidate reports whether a candidate's snapshot is there.
func (d *driver) hasCandidate(c candidate) bool {
	return d.history.store != nil && d.history.store.ReadSnapshot(c.name(), func(io.Reader) error { return nil }) == nil
}

// load fills in the weights of a candidate whose round came from the record.
func (d *driver) load(ctx context.Context, c *candidate) error {
	if c.weights != nil {
		return nil
	}
	err := d.history.store.ReadSnapshot(c.name(), func(r io.Reader) error {
		var size [4]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return err
		}
		var text bytes.Buffer
		if _, err := io.CopyN(&text, r, int64(binary.LittleEndian.Uint32(size[:]))); err != nil {
			return err
		}
		var head candidateHead
		if err := json.Unmarshal(text.Bytes(), &head); err != nil {
			return err
		}
		s, err := fl.ReadSnapshot(r)
		if err != nil {
			return err
		}
		if s.Layout != d.engine.Layout() {
			return errors.New("its weights have a different memory layout")
		}
		if c.memory, err = d.engine.StateOf(*s); err != nil {
			return err
		}
		c.weights, c.state, c.saved = s.Weights, head.State, c.name()
		return nil
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		d.setup.log().Warn("the stored model cannot be used; its rounds are run again", "why", err)
	}
	tr, err := d.restore(ctx, c.trial, c.round)
	if err != nil {
		return err
	}
	c.weights, c.memory = tr.Weights(), tr.State()
	return d.complete(ctx, c)
}

// tidy deletes the snapshots that a finished study does not need to have the
// models of its result again.
func (d *driver) tidy(ctx context.Context, r *Result) error {
	if d.history.store == nil {
		return nil
	}
	keep, ends := map[string]bool{}, map[*trial]bool{}
	for _, m := range r.models() {
		c, err := d.candidateOf(m)
		if err != nil {
			return err
		}
		if !c.last {
			keep[c.name()] = true
		}
		if c.last || r.Survivor != nil && m.Number == r.Survivor.Number && m.Round == r.Survivor.Round {
			ends[c.trial] = true
			if err := c.trial.save(ctx); err != nil {
				return err
			}
		}
	}
	for _, t := range d.trials {
		n := 0
		if ends[t] || d.setup.KeepTrials {
			n = 1
		}
		if err := t.prune(n); err != nil {
			return err
		}
	}
	names, err := d.history.store.Snapshots()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, candidatePrefix) && !keep[name] {
			if err := d.removeCandidate(name); err != nil {
				return err
			}
		}
	}
	return nil
}
