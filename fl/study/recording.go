package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Recording is a trial whose clients' errors eval.record_every has recorded.
type Recording struct {
	// Trial is its number, Seed the study's: both key what it drew.
	Trial  int
	Seed   uint64
	Params tuners.Params
	// Rounds is how many it ran; Failed is why it ended early, empty if it did not.
	Rounds int
	Failed string
	// Diverged is the round, from 1 on, in which it failed or from which on all results
	// were left out, 0 for none.
	Diverged int
	// Dropped are, by round from 1 on, the places in the cohort whose results were left out.
	Dropped map[int][]int
	// Points are in the order of their rounds, the first one before any. A trial that failed in
	// its first round has no points.
	Points []RecordedPoint
}

// RecordedPoint is what was recorded of a trial after a round.
type RecordedPoint struct {
	Round int
	// Val and Test are the errors of all clients, NaN without samples; Test is nil where
	// the federation has a test set of its own, whose error Central is, else NaN. Errors of a
	// regression are the mean squared ones.
	Val, Test []float64
	Central   float64
	SHA256    string
	// TrainLoss is the loss of the round, NaN before any. Seconds are simulated, NaN without;
	// they, Bytes, which clients received and sent, and Dropped, the results that were left
	// out, are sums over the rounds so far.
	TrainLoss, Seconds float64
	Bytes              int64
	Dropped            int
}

// At returns the point whose round is the nearest to a round, of two the later one. There must be
// points.
func (r *Recording) At(round int) *RecordedPoint {
	best := &r.Points[0]
	for i := range r.Points {
		p := &r.Points[i]
		if max(p.Round-round, round-p.Round) <= max(best.Round-round, round-best.Round) {
			best = p
		}
	}
	return best
}

// Recordings returns what a study recorded with eval.record_every, by trial.
func Recordings(ctx context.Context, s store.Reader, seed uint64) ([]Recording, error) {
	var all []Recording
	sums := map[int]*RecordedPoint{}
	err := s.Each(ctx, func(r store.Row) error {
		if r.Kind == store.KindTrial {
			return record.Into(r, func(rec *record.Trial) {
				all = append(all, Recording{Trial: r.Trial, Seed: seed, Params: rec.Params, Dropped: map[int][]int{}})
				sums[r.Trial] = &RecordedPoint{}
			})
		}
		at := slices.IndexFunc(all, func(t Recording) bool { return t.Trial == r.Trial })
		if at < 0 {
			return fmt.Errorf("trial %d: its rounds are recorded before it", r.Trial)
		}
		if r.Kind == store.KindFail {
			return record.Into(r, func(rec *record.Fail) { all[at].fail(rec.Reason) })
		}
		return record.Into(r, func(rec *record.Round) { all[at].take(r.Round, rec, sums[r.Trial]) })
	}, store.KindTrial, store.KindRound, store.KindFail)
	slices.SortFunc(all, func(a, b Recording) int { return a.Trial - b.Trial })
	return all, err
}

// take takes in a round; sum holds the sums so far.
func (r *Recording) take(round int, rec *record.Round, sum *RecordedPoint) {
	point := func(round int, e *record.Errors) {
		if e == nil {
			return
		}
		p := *sum
		p.Round, p.Val, p.Test, p.Central, p.SHA256 = round, e.Val, e.Test, e.Central.Float(), e.SHA256
		r.Points = append(r.Points, p)
	}
	table := rec.Table
	table = cmp.Or(table, &record.Table{})
	sum.TrainLoss = math.NaN()
	point(0, table.Before)
	r.Rounds = round
	sum.TrainLoss, sum.Seconds = float64(rec.TrainLoss), sum.Seconds+rec.Seconds.Float()
	sum.Bytes, sum.Dropped = sum.Bytes+rec.Down+rec.Up, sum.Dropped+rec.Dropped
	point(round, table.After)
	if len(rec.DroppedSlots) > 0 {
		r.Dropped[round] = rec.DroppedSlots
	}
	switch {
	case rec.Dropped < len(rec.Clients):
		r.Diverged = 0
	case r.Diverged == 0:
		r.Diverged = round
	}
}

// fail notes that the next round failed.
func (r *Recording) fail(reason string) {
	r.Failed = reason
	r.Diverged = cmp.Or(r.Diverged, r.Rounds+1)
}

// addTraffic counts a round.
func addTraffic(t *result.Traffic, rec *record.Round) {
	t.Down += rec.Down
	t.Up += rec.Up
	t.Plain = t.Down
	t.Attacks += rec.Attackers
	t.Updates += len(rec.Clients)
}

// trafficOf returns that of a run with a configuration.
func (t *entrant) trafficOf(c *config.Config) *result.Traffic {
	all := t.traffic
	all.Attack, all.Aggregator = c.Update.Attack, c.Aggregator.Name
	return &all
}

// addFleet takes in what a round tells of a fleet.
func (t *tally) addFleet(rec *record.Round, clients, small int) {
	f := rec.Fleet
	if t.fleet == nil { // else it may be that of a copy, whose clock goes on
		t.fleet = &result.Simulated{}
	}
	if t.updates == nil {
		t.updates = map[int]int{}
	}
	l := t.fleet
	l.Clients, l.Small, l.Clock = clients, small, float64(f.Clock)
	l.Updates += len(rec.Clients)
	l.Late += f.Late
	l.Vanished += f.Vanished
	l.Stale += f.Stale
	l.FailedRounds += f.Failed
	for _, j := range f.Jobs {
		if j.Fate != "" {
			l.Wasted += float64(j.End - j.Start)
			continue
		}
		l.Spent += float64(j.End - j.Start)
		l.Staleness += j.Staleness
		n := t.updates[j.Client]
		t.updates[j.Client] = n + 1
		t.squares += 2*n + 1
		l.MostUpdates = max(l.MostUpdates, n+1)
		if j.Partial {
			l.Partial++
		}
	}
	l.Contributed = len(t.updates)
	if t.squares > 0 {
		l.Fairness = float64(l.Updates) / float64(l.Clients) * float64(l.Updates) / float64(t.squares)
	}
}

// clockOf returns the simulated time after a round, nil without a fleet.
func clockOf(rec *record.Round) *float64 {
	if rec.Fleet == nil {
		return nil
	}
	return rec.Fleet.Clock.Pointer()
}

// finish records the end of the study.
func (d *driver) finish(r result.End) error {
	errs := errorsIn(&r)
	if e := errs[0].Evaluation; e != nil && len(e.Clients) > 0 {
		skew, err := data.LabelSkew(d.setup.Data)
		if err != nil {
			return err
		}
		for i := 0; skew != nil && i < len(e.Clients); i++ {
			e.Clients[i].Skew = &skew[e.Clients[i].Client]
		}
		if err := d.past.Append(store.KindClients, tuners.StudySession, 0, record.ClientsOf(e.Clients)); err != nil {
			return err
		}
	}
	for _, e := range errs {
		if e.Evaluation != nil {
			e.Evaluation.Clients = nil // as in a result that is read again
		}
	}
	return errors.Join(d.past.Append(store.KindResult, tuners.StudySession, 0, r), d.past.Flush())
}

// errorsIn are the errors of all models, the returned one first.
func errorsIn(r *result.End) (all []*result.Errors) {
	if r.Run != nil {
		return []*result.Errors{&r.Run.Errors}
	}
	others := list.Of(r.Tune.Models(), func(m *result.Chosen) *result.Errors { return &m.Errors })
	return append(all, append([]*result.Errors{&r.Tune.Errors}, others...)...)
}
