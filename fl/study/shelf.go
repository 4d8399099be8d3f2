package study

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// shelf keeps the best models of a study: one each of the trials with the best scores.
type shelf struct {
	objective tuners.Objective
	most      int     // models that are kept
	reported  ranking // without weights, of what the tuner knows

	bestMu sync.Mutex // guards best
	best   ranking

	bufferMu sync.Mutex  // guards free
	free     [][]float32 // weights that no model holds
}

// newShelf returns an empty one.
func newShelf(c *config.Config, objective tuners.Objective) *shelf {
	s := &shelf{objective: objective, most: 1}
	if c.Select == config.SelectFinalists {
		s.most = max(1, c.Finalists.Snapshots)
	}
	return s
}

// ranking holds the best models of different trials, the best first.
type ranking []trial.Model

// floor is the score below which a trial's model is kept, NaN for any. It follows
// what the tuner knows, so that it does not depend on which trials are beside
// it and how far they are.
func (s *shelf) floor(t *trial.Trial) float64 {
	for i := range s.reported {
		if s.reported[i].Trial == t {
			return s.reported[i].Score
		}
	}
	if len(s.reported) >= s.most {
		return s.reported[s.most-1].Score
	}
	return math.NaN()
}

// take keeps a model if its score is one of the best of different trials, of
// equal scores that of the lower trial number: the same ones in whatever order
// trials end. The snapshot of the one that loses is deleted once the winner's is
// durable.
func (s *shelf) take(ctx context.Context, m trial.Model, ended bool) error {
	s.bestMu.Lock()
	defer s.bestMu.Unlock()
	var err error
	if ended && s.ranks(s.best, &m) {
		err = m.Save(context.WithoutCancel(ctx))
	}
	for _, lost := range s.rank(&s.best, m) {
		if lost.Weights != nil {
			s.bufferMu.Lock()
			s.free = append(s.free, lost.Weights)
			s.bufferMu.Unlock()
		}
		if err == nil && ended && lost.Round > 0 {
			err = lost.Remove()
		}
	}
	return err
}

// Wants reports whether a model has a place among those that are kept.
func (s *shelf) Wants(m *trial.Model) bool {
	s.bestMu.Lock()
	defer s.bestMu.Unlock()
	return s.ranks(s.best, m)
}

// before reports whether a model comes before another one.
func (s *shelf) before(a, b *trial.Model) bool {
	return s.objective.Better(a.Score, b.Score) || a.Score == b.Score && a.Trial.Number < b.Trial.Number
}

// ranks reports whether a model has a place in a ranking.
func (s *shelf) ranks(r ranking, m *trial.Model) bool {
	if math.IsNaN(m.Score) {
		return false
	}
	for i := range r {
		if r[i].Trial == m.Trial {
			return s.before(m, &r[i])
		}
	}
	return len(r) < s.most || s.before(m, &r[s.most-1])
}

// rank puts a model in its place, if it has one, and returns what is not kept.
func (s *shelf) rank(into *ranking, m trial.Model) (lost []trial.Model) {
	r := *into
	if !s.ranks(r, &m) {
		return []trial.Model{m}
	}
	if at := slices.IndexFunc(r, func(b trial.Model) bool { return b.Trial == m.Trial }); at >= 0 {
		lost = append(lost, r[at])
		r = slices.Delete(r, at, at+1)
	}
	at := slices.IndexFunc(r, func(b trial.Model) bool { return s.before(&m, &b) })
	if at < 0 {
		at = len(r)
	}
	r = slices.Insert(r, at, m)
	if len(r) > s.most {
		lost = append(lost, r[s.most:]...)
		r = r[:s.most]
	}
	*into = r
	return lost
}

// Buffer returns memory for the weights of a model, nil when none is free.
func (s *shelf) Buffer() []float32 {
	s.bufferMu.Lock()
	defer s.bufferMu.Unlock()
	n := len(s.free)
	if n == 0 {
		return nil
	}
	w := s.free[n-1]
	s.free = s.free[:n-1]
	return w
}

// find returns the model of a trial after a round, if it is kept.
func (s *shelf) find(number, round int) (trial.Model, bool) {
	for _, m := range s.best {
		if m.Trial.Number == number && m.Round == round {
			return m, true
		}
	}
	return trial.Model{}, false
}

// removeOthers deletes the snapshots that a finished study does not need to have the
// models of its result again.
func (d *driver) removeOthers(ctx context.Context, r *result.Result) error {
	store := d.past.Store
	if store == nil {
		return nil
	}
	keep, ends := map[string]bool{}, map[int]bool{}
	for _, chosen := range r.Models() {
		m, err := d.modelOf(chosen)
		if err != nil {
			return err
		}
		if !m.Last() {
			keep[m.Name()] = true
		}
		if m.Last() || r.Survivor != nil && chosen.Number == r.Survivor.Number && chosen.Round == r.Survivor.Round {
			ends[chosen.Number] = true
			if err := m.Trial.Save(ctx); err != nil {
				return err
			}
		}
	}
	for _, t := range d.trials {
		n := 0
		if ends[t.Number] || d.setup.KeepTrials {
			n = 1
		}
		if err := t.Prune(n); err != nil {
			return err
		}
	}
	return trial.RemoveOthers(store, keep)
}
