package study

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
)

// candidate is a model that may be returned.
type candidate struct {
	score   float64 // NaN when there is none
	trial   *trial
	round   int
	weights []float32 // nil where the round comes from the record
	memory  *fl.State // of the method, nil for most
	state   []byte    // of the client tuner's session; nil where it was not at hand
	saved   string    // the snapshot that this segment stored last
	last    bool      // the trial ended with this round: its weights are the model's
}

// snapshots is of how many trials the model of the lowest score is kept.
func (d *driver) snapshots() int {
	if c := &d.setup.Config; c.Select == config.SelectFinalists {
		return c.Finalists.Snapshots
	}
	return 1
}

// floor is the score below which a trial's model is kept, NaN for any. It follows
// what the tuner was told, so that it does not depend on which trials are beside
// it and how far they are.
func (d *driver) floor(t *trial) float64 {
	for i := range d.told {
		if d.told[i].trial == t {
			return d.told[i].score
		}
	}
	if n := d.snapshots(); len(d.told) >= n {
		return d.told[n-1].score
	}
	return math.NaN()
}

// take keeps a model if its score is one of the lowest of different trials, of
// equal scores that of the lower trial number: the same ones in whatever order
// trials end. The snapshot of the one that loses is deleted once the winner's is
// durable.
func (d *driver) take(ctx context.Context, c candidate, ended bool) error {
	d.taking.Lock()
	defer d.taking.Unlock()
	var err error
	if ended && d.ranks(d.best, &c) {
		err = d.saveCandidate(context.WithoutCancel(ctx), &c)
	}
	for _, c := range d.rank(&d.best, c) {
		if c.weights != nil {
			d.mu.Lock()
			d.free = append(d.free, c.weights)
			d.mu.Unlock()
		}
		if err == nil && ended && c.round > 0 {
			err = errors.Join(d.removeCandidate(c.name()), d.removeCandidate(c.saved))
		}
	}
	return err
}

// ranking holds the candidates of the lowest scores of different trials, the
// lowest first.
type ranking []candidate

// before reports whether a model comes before another one.
func (d *driver) before(a, b *candidate) bool {
	return d.objective.Better(a.score, b.score) || a.score == b.score && a.trial.number < b.trial.number
}

// ranks reports whether a model has a place in a ranking.
func (d *driver) ranks(r ranking, c *candidate) bool {
	if math.IsNaN(c.score) {
		return false
	}
	for i := range r {
		if r[i].trial == c.trial {
			return d.before(c, &r[i])
		}
	}
	n := d.snapshots()
	return len(r) < n || d.before(c, &r[n-1])
}

// rank puts a model in its place, if it has one, and returns what is not kept.
func (d *driver) rank(into *ranking, c candidate) []candidate {
	r := *into
	if !d.ranks(r, &c) {
		return []candidate{c}
	}
	var lost []candidate
	if at := slices.IndexFunc(r, func(b candidate) bool { return b.trial == c.trial }); at >= 0 {
		lost = append(lost, r[at])
		r = slices.Delete(r, at, at+1)
	}
	at := slices.IndexFunc(r, func(b candidate) bool { return d.before(&c, &b) })
	if at < 0 {
		at = len(r)
	}
	r = slices.Insert(r, at, c)
	if n := d.snapshots(); len(r) > n {
		lost = append(lost, r[n:]...)
		r = r[:n]
	}
	*into = r
	return lost
}

// buffer returns memory for the weights of a candidate, nil when none is free.
func (d *driver) buffer() []float32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.free)
	if n == 0 {
		return nil
	}
	w := d.free[n-1]
	d.free = d.free[:n-1]
	return w
}
