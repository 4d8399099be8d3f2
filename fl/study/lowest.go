package study

import (
	"context"
	"math"

	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/tuners"
)

// Lowest returns the best score in an objective, the lowest of one that is
// minimized, that a recorded round's cohort gave a trial, with the rounds before
// weighed in as score.discount says; nil without any.
func Lowest(ctx context.Context, s store.Reader, discount float64, objective tuners.Objective) (*float64, error) {
	lowest := math.NaN()
	means := map[int]*Discounted{} // by trial, since its last rung
	err := s.Each(ctx, func(r store.Row) error {
		if r.Kind == KindRung {
			delete(means, r.Trial)
			return nil
		}
		rec, err := decode[roundRecord](r.Kind, r.Data)
		if err != nil || math.IsNaN(float64(rec.Score)) {
			return err
		}
		if means[r.Trial] == nil {
			means[r.Trial] = &Discounted{}
		}
		if score := means[r.Trial].Add(float64(rec.Score), discount); objective.Better(score, lowest) {
			lowest = score
		}
		return nil
	}, KindRound, KindRung)
	if err != nil || math.IsNaN(lowest) {
		return nil, err
	}
	return &lowest, nil
}
