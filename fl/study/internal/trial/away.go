package trial

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
)

// Away trains trials elsewhere, as a study.Trainer does; the zero value trains none.
type Away struct {
	Place  func(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (Remote, error)
	Shares func(trial int) bool // nil where none is trained in parts
}

// Remote is a study.Training.
type Remote interface {
	Round(ctx context.Context, rounds int, plan fl.Plan, observed []string, check func(record []byte) error) ([]byte, error)
	Keep()
	Fetch(ctx context.Context, kept, state bool, check func(model, trial *fl.Snapshot) error) (model, trial *fl.Snapshot, err error)
	Leaving() bool
	End()
}

// ErrLost is the error of a trial whose worker is gone.
var ErrLost = errors.New("worker lost")

// away is a training elsewhere.
type away struct {
	Remote
	trial  *Trial
	rounds int
	kept   bool // a model that was not fetched yet
}

// Rounds returns how many rounds it has run.
func (a *away) Rounds() int { return a.rounds }

func (a *away) round(ctx context.Context, plan fl.Plan, observed []string, take func(*record.Round) error,
) (rec *record.Round, err error) {
	_, err = a.Round(ctx, a.rounds, plan, observed, func(data []byte) (err error) {
		if rec, err = record.Decode[record.Round](store.KindRound, data); err == nil {
			err = a.trial.checkRound(rec, a.rounds, observed)
		}
		if err != nil {
			return fmt.Errorf("invalid record of trial %d, round %d: %w", a.trial.Number, a.rounds+1, err)
		}
		return take(rec)
	})
	if err != nil {
		return nil, err
	}
	a.rounds++
	return rec, nil
}

func (a *away) keep(m *Model) {
	a.Keep()
	a.kept, m.Weights, m.Memory = true, nil, nil
}

// fetch brings here what a trial that trains elsewhere has kept, and its state.
func (t *Trial) fetch(ctx context.Context, state bool) (fl.Snapshot, error) {
	model, trial, err := t.away.Fetch(ctx, t.away.kept, state, func(model, trial *fl.Snapshot) error {
		return t.checkFetched(model, trial, t.away.rounds)
	})
	if err != nil {
		return fl.Snapshot{}, err
	}
	if model != nil {
		m := &t.best
		if m.Memory, err = t.study.Engine.StateOf(*model); err != nil {
			return fl.Snapshot{}, err
		}
		m.Weights, t.away.kept = model.Weights, false
	}
	if trial == nil {
		return fl.Snapshot{}, nil
	}
	return *trial, nil
}

// checkRound checks the record of a round that was run elsewhere: it must be one that
// this study can have of that round, with the clients that it drew and the probes that
// the client tuner observes. Its numbers are believed.
func (t *Trial) checkRound(rec *record.Round, rounds int, observed []string) error {
	n := len(rec.Clients)
	if t.study.Engine.DrawsCohorts() {
		if !slices.Equal(rec.Clients, t.study.Engine.Cohort(t.Number, rounds)) {
			return errors.New("other clients than those of the round")
		}
	} else if err := t.checkClients(rec.Clients); err != nil {
		return err
	}
	if err := t.checkFleet(rec, rounds); err != nil {
		return err
	}
	last := -1
	for _, slot := range rec.DroppedSlots {
		if slot <= last || slot >= n {
			return fmt.Errorf("slot %d of %d cannot have been dropped", slot, n)
		}
		last = slot
	}
	if rec.Dropped != len(rec.DroppedSlots) {
		return fmt.Errorf("%d dropped clients, but %d slots", rec.Dropped, len(rec.DroppedSlots))
	}
	for _, count := range []int{rec.Steps, rec.Examples} {
		if count < 0 || count > shard.MostCount {
			return fmt.Errorf("%d steps or samples", count)
		}
	}
	if math.IsNaN(float64(rec.Score)) && !t.study.Meter.Unscored && !t.study.Meter.Config.MayLackScores() {
		return errors.New("no client of the cohort has validation samples to score on")
	}
	if math.IsInf(float64(rec.Score), 0) || math.IsInf(rec.Other.Float(), 0) {
		return errors.New("its score is infinite")
	}
	if rec.Seconds != nil && !(*rec.Seconds >= 0 && *rec.Seconds <= math.MaxFloat64) {
		return fmt.Errorf("%v simulated seconds", float64(*rec.Seconds))
	}
	if rec.Params != nil {
		return errors.New("hyperparameters are set")
	}
	if !rec.Table.Holds(len(t.study.Meter.Data.Clients)) {
		return errors.New("a table of other clients")
	}
	for name, values := range rec.Probes {
		if len(values) != n || !slices.Contains(observed, name) {
			return fmt.Errorf("%d values of the probe %.40q for %d clients", len(values), name, n)
		}
	}
	if len(rec.Weights) > 2*sha256.Size || len(rec.State) > 2*sha256.Size {
		return errors.New("a digest is too long")
	}
	for name, hashes := range rec.Tensors {
		if len(hashes) != n {
			return fmt.Errorf("%d hashes of %.40q for %d clients", len(hashes), name, n)
		}
	}
	for name := range rec.Aggregates {
		if !slices.Contains(observed, name) {
			return fmt.Errorf("probe %.40q was not requested", name)
		}
	}
	for name := range rec.Masked {
		if !slices.ContainsFunc(t.study.Meter.Data.Masks, func(m data.Mask) bool { return m.Name == name }) {
			return fmt.Errorf("unknown mask %.40q", name)
		}
	}
	return nil
}

// checkFetched checks the model that a trial has kept and its state, as far as they were
// fetched from elsewhere, against the number of rounds that the trial has run.
func (t *Trial) checkFetched(model, state *fl.Snapshot, rounds int) error {
	for _, s := range []*fl.Snapshot{model, state} {
		if s == nil {
			continue
		}
		if err := t.study.Engine.CheckSnapshot(s); err != nil {
			return err
		}
		if s.Number != t.Number || s.Round > rounds || s == state && s.Round != rounds {
			return fmt.Errorf("a worker sent trial %d after %d rounds, want trial %d after %d", s.Number, s.Round, t.Number, rounds)
		}
	}
	return nil
}
