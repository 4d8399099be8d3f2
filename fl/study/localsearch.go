package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// searchLocally has clients train by themselves with each of some points, and reports of
// it. What a point comes to is recorded before the next one.
func (d *driver) searchLocally(ctx context.Context, s play.Segment) (tuners.TrialReport, error) {
	search, report := s.LocalSearch, tuners.TrialReport{Trial: tuners.NoTrial, Score: math.NaN()}
	switch {
	case d.setup.account != nil && d.searched != nil:
		return report, errors.New("the account of a private study is for one decision that has clients train by themselves")
	case d.setup.account != nil && search.Clients > 0:
		return report, &key.Error{Key: "tuner.options.clients", Problem: fmt.Sprintf(" = %d: in a private study all "+
			"clients take part, since who is drawn would reveal others; leave it out", search.Clients)}
	case d.setup.account != nil && search.Votes == 0 && d.objective.Metric != tuners.MetricError && d.objective.Direction != tuners.Maximize:
		return report, &key.Error{Key: "objective", Problem: fmt.Sprintf(" = %q: it has no bound, so noise cannot make what clients tell private; use \"error\" or \"accuracy\"", d.objective.Metric)}
	}
	weights := d.engine.NewTrial(0).Weights()
	total := &result.LocalSearch{Votes: search.Votes}
	var all []*record.Local
	for i, point := range s.Points {
		rec, err := d.trainLocally(ctx, weights, search, point, i)
		if err != nil {
			return report, fmt.Errorf("point %d: %w", i, err)
		}
		if rec == nil {
			report.Failed, report.Reason = true, result.ActReason(result.ActStopStudy)
			return report, nil
		}
		all = append(all, rec)
		total.Points, total.Clients, total.Examples = i+1, len(rec.Scores), total.Examples+rec.Examples
		d.setup.Observer.Progress(Progress{
			Preparing: true, Local: true, Trial: i, TrialRound: 1, ToRound: 1, Round: i + 1, Rounds: len(s.Points),
			Score: rec.Mean(), Best: result.Standing{Score: math.NaN()}, Loss: math.NaN(),
		})
	}
	d.searched = total
	d.tell(&report, total, all)
	return report, nil
}

// trainLocally returns what a point comes to, the i-th of a search, from the record if it is
// there; nil where a user has ended the study.
func (d *driver) trainLocally(ctx context.Context, weights []float32, search *tuners.LocalSearch, point tuners.Params, i int) (*record.Local, error) {
	h, err := d.study.Hyper.Base.With(point, d.study.Hyper.Adds)
	if err != nil {
		return nil, err
	}
	if search.Epochs > 0 {
		h.Client.Epochs, h.Client.Steps, h.Client.PersonalEpochs = search.Epochs, 0, 0
	}
	if err := d.study.Hyper.Method.CheckParams(h.Client, h.Server); err != nil {
		return nil, err
	}
	if d.locals++; d.locals <= len(d.past.Locals) {
		return d.past.Locals[d.locals-1], nil
	}
	if d.setup.Control.over() {
		return nil, nil
	}
	scores, err := d.engine.ValidateClients(ctx, weights, fl.EvalConfig{Clients: []fl.ClientParams{h.Client}, Server: &h.Server, Sample: search.Clients})
	if err != nil {
		return nil, d.crashed(err)
	}
	if n := len(scores) * (i + 1); search.Votes == 0 && n > tuners.MaxLocalScores {
		return nil, fmt.Errorf("the scores of %d clients are more than %d numbers: use fewer configurations or clients", len(scores), tuners.MaxLocalScores)
	}
	rec := &record.Local{}
	for _, s := range scores {
		rec.Scores, rec.Losses = append(rec.Scores, record.Real(s.Metric(d.objective.Metric))), append(rec.Losses, record.Real(s.Loss))
		rec.Samples = append(rec.Samples, s.Samples)
		rec.Examples += h.Client.Examples(d.setup.Data.Clients[s.Client].Train.Len())
	}
	if err := d.past.Append(store.KindLocal, tuners.NoTrial, d.locals, rec); err != nil {
		return nil, err
	}
	return rec, d.past.Flush()
}

// tell fills in what the tuner learns of a search: in a private study sums with noise alone.
func (d *driver) tell(r *tuners.TrialReport, total *result.LocalSearch, all []*record.Local) {
	r.Measured = make([]tuners.Measured, len(all))
	a := d.setup.account
	noise := fl.NewNoise(tuners.NewDraws(d.setup.Config.Seed, tuners.NoTrial, 0, "local search").Uint64(), 0)
	switch {
	case total.Votes > 0:
		counts := d.votes(all, total.Votes)
		total.Noise = a.VoteNoise(total.Votes)
		for i, n := range counts {
			r.Measured[i] = tuners.Measured{Score: math.NaN(), Votes: n + float64(total.Noise*noise.Normal())}
		}
	case a != nil:
		total.Noise = a.MeansNoise(len(all))
		for i, rec := range all {
			score := fl.ScoreOptions{Noise: total.Noise, Expected: len(d.setup.Data.Clients)}.PrivateMean(d.errors(rec), noise)
			r.Measured[i].Score = score.Metric(d.objective.Metric)
		}
	default:
		for i, rec := range all {
			r.Measured[i] = tuners.Measured{Score: rec.Mean(), Clients: rec.Numbers()}
		}
		if d.samples {
			r.Samples = all[0].Samples
		}
	}
}

// errors are the clients' errors of a point.
func (d *driver) errors(rec *record.Local) []float64 {
	all := rec.Numbers()
	for i, x := range all {
		if d.objective.Direction == tuners.Maximize {
			all[i] = 1 - x
		}
	}
	return all
}

// votes counts the clients' votes, each for k of the points: those of its best scores, of equal
// ones of the lower loss, then the first.
func (d *driver) votes(all []*record.Local, k int) []float64 {
	counts := make([]float64, len(all))
	for client := range all[0].Scores {
		order := list.Made(len(all), func(i int) int { return i })
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(d.objective.Compare(float64(all[a].Scores[client]), float64(all[b].Scores[client])),
				cmp.Compare(all[a].Losses[client], all[b].Losses[client]))
		})
		for _, i := range order[:min(k, len(order))] {
			counts[i]++
		}
	}
	return counts
}
