package view

import (
	"context"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// Round is a recorded round of a trial.
type Round struct {
	// Round is how many rounds the trial had run after it.
	Round int
	At    time.Time
	Seq   int64
	result.Measured
	// Mean is the trial's score after the round: those since the last rung, weighed
	// by score.discount or score.rounds.
	Mean float64
}

// follower adds to each round of a trial the mean of the scores since the last rung.
type follower struct {
	trial    *Trial
	discount float64
	mean     result.Discounted
	rung     int // the next one
}

// next reads the round after those before.
func (f *follower) next(r store.Row) (Round, error) {
	e, err := result.ReadEntry(r)
	if err != nil {
		return Round{}, err
	}
	for f.rung < len(f.trial.Rungs) && f.trial.Rungs[f.rung].Round < e.Round {
		f.mean = result.Discounted{}
		f.rung++
	}
	round := Round{Round: e.Round, At: e.At, Seq: e.Seq, Measured: *e.Measured, Mean: math.NaN()}
	if !math.IsNaN(round.Score) {
		round.Mean = f.mean.Add(round.Score, f.discount)
	}
	return round, nil
}

// Trial returns a trial as far as Curve needs it, how it began and its rungs, and nil without one.
func (s *Study) Trial(ctx context.Context, number int) (*Trial, error) {
	b := &builder{o: &Overview{}}
	err := s.view.Of(ctx, number, -1, b.read, store.KindTrial, store.KindRung)
	return b.trial(number), err
}

// Curve returns the rounds of a trial after one of them, 0 for all. discount is
// config.Config.Discount.
func (s *Study) Curve(ctx context.Context, t *Trial, after int, discount float64) ([]Round, error) {
	var rounds []Round
	f := follower{trial: t, discount: discount}
	err := s.view.Of(ctx, t.Number, t.since(after+1), func(r store.Row) error {
		round, err := f.next(r)
		if err == nil && round.Round > after {
			rounds = append(rounds, round)
		}
		return err
	}, store.KindRound)
	return rounds, err
}

// drop forgets the single jobs of clients, of which all trials together may have more than
// memory holds.
func (r *Round) drop() {
	if r.Fleet != nil {
		r.Fleet.Jobs = nil
	}
}

// Curves returns the rounds of all trials of an overview, which it tells of, by the
// places of the trials there, without the jobs of clients on a
// fleet, which Curve has. It reads the record once from its beginning on: for
// many trials that takes less time than Curve for each.
func (s *Study) Curves(ctx context.Context, o *Overview) ([][]Round, error) {
	curves := make([][]Round, len(o.Trials))
	places := make(map[int]int, len(o.Trials))
	followers := make([]follower, len(o.Trials))
	for i := range o.Trials {
		places[o.Trials[i].Number] = i
		followers[i] = follower{trial: &o.Trials[i], discount: o.Config.Discount()}
	}
	err := s.view.Each(ctx, func(r store.Row) error {
		i, ok := places[r.Trial]
		if !ok || r.Seq > o.Seq {
			return nil
		}
		round, err := followers[i].next(r)
		round.drop()
		curves[i] = append(curves[i], round)
		return err
	}, store.KindRound)
	return curves, err
}

// Plans calls f for each recorded plan of a trial's client tuner after a round, in
// their order: entries of store.KindPlan, whose Round the plan is for.
func (s *Study) Plans(ctx context.Context, trial, after int, f func(*result.Entry) error) error {
	return s.view.Of(ctx, trial, after, func(r store.Row) error {
		e, err := result.ReadEntry(r)
		if err != nil {
			return err
		}
		return f(e)
	}, store.KindPlan)
}

// news are the kinds of entries that Since returns.
var news = []string{
	store.KindSession, store.KindSuggest, store.KindTrial, store.KindRound, store.KindRung, store.KindFail, store.KindAct, store.KindFinalist, store.KindResult,
	store.KindBaseline, store.KindConfiguration,
}

// Since returns at most limit entries after the one numbered after, in order, so
// that what follows a study at work asks again after the last one that it got.
// Plans are not among them. Of an entry that adds to an Overview, all but those of
// store.KindRound, a reader may simply ask for the overview again.
func (s *Study) Since(ctx context.Context, after int64, limit int) ([]result.Entry, error) {
	var entries []result.Entry
	err := s.view.Since(ctx, after, limit, func(r store.Row) error {
		e, err := result.ReadEntry(r)
		if err != nil {
			return err
		}
		entries = append(entries, *e)
		return nil
	}, news...)
	return entries, err
}
