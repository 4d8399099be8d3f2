package study

import (
	"context"
	"math"

	"github.com/fedfast/fedfast/fl/study/store"
)

// Lowest returns the lowest score that a recorded round's cohort gave a trial,
// with the rounds before weighed in as score.discount says; nil without any.
func Lowest(ctx context.Context, s store.Reader, discount float64) (*float64, error) {
	lowest := math.Inf(1)
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
		lowest = min(lowest, means[r.Trial].Add(float64(rec.Score), discount))
		return nil
	}, KindRound, KindRung)
	if err != nil || math.IsInf(lowest, 1) {
		return nil, err
	}
	return &lowest, nil
}
