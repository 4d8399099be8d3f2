package trial

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
)

// The names of snapshots sort by trial and round.
const trialSnapshot = "trial-%06d-round-%08d"

// generations is how many snapshots of a running trial are kept, so that the
// one before stands in for a damaged one.
const generations = 2

// stored is the newest snapshot of a trial.
type stored struct {
	at    time.Time     // when it was stored, or the segment began
	round int           // of it
	spent time.Duration // on training since then
}

// worthwhile reports whether the rounds since the last snapshot took long enough to
// be spared from being run again. A plain run has only one segment.
func (t *Trial) worthwhile() bool {
	return t.study.Meter.Unscored || t.stored.spent >= t.study.Stored.Every/30
}

// Due reports whether the trial should be saved between two rounds.
func (t *Trial) Due() bool {
	return t.away != nil && t.away.Leaving() || t.trains() && time.Since(t.stored.at) >= t.study.Stored.Every
}

// Save stores the trial's state and its segment's best model, unless the record has
// led it here or nothing has changed.
func (t *Trial) Save(ctx context.Context) error {
	store := t.study.Past.Store
	if store == nil || !t.trains() || t.stored.round == t.rounds {
		return nil
	}
	var s fl.Snapshot
	var err error
	if t.away == nil {
		s = t.train.Snapshot()
	} else if s, err = t.fetch(ctx, true); err != nil {
		return err
	}
	if s.Round != t.rounds {
		return nil // it has trained a round that was not recorded
	}
	if err := t.best.Save(ctx); err != nil {
		return err
	}
	err = store.WriteSnapshot(fmt.Sprintf(trialSnapshot, t.Number, t.rounds), func(w io.Writer) error {
		_, err := s.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	t.stored = stored{at: time.Now(), round: t.rounds}
	return t.Prune(generations)
}

// Prune deletes all but the newest snapshots of the trial.
func (t *Trial) Prune(keep int) error {
	names, err := t.snapshots(t.rounds)
	if err != nil {
		return err
	}
	for _, name := range names[min(keep, len(names)):] {
		if err := t.study.Past.Store.RemoveSnapshot(name); err != nil {
			return err
		}
	}
	return nil
}

// snapshots returns the names of the trial's snapshots at a round or before, the
// newest first.
func (t *Trial) snapshots(rounds int) ([]string, error) {
	if t.study.Past.Store == nil {
		return nil, nil
	}
	all, err := t.study.Past.Store.Snapshots()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		var number, round int
		if n, _ := fmt.Sscanf(name, trialSnapshot, &number, &round); n == 2 && number == t.Number && round <= rounds {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return names, nil
}

// loadTrial reads a trial's snapshot.
func (s *Study) loadTrial(name string) (tr *fl.Trial, err error) {
	err = s.Past.Store.ReadSnapshot(name, func(r io.Reader) error {
		snapshot, err := fl.ReadSnapshot(r)
		if err == nil {
			tr, err = s.Engine.Restore(*snapshot)
		}
		return err
	})
	return tr, err
}
