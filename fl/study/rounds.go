package study

import (
	"context"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl/study/store"
)

// RoundRow is a recorded round of a trial.
type RoundRow struct {
	Trial int
	// Round is how many rounds the trial had run.
	Round int
	// At is when it ended; Since is when it began, as far as the record tells: it
	// does not for the first round after a decision, nor for rounds that were
	// shared with another study, whose Since is the zero time.
	At, Since time.Time
	// Score is the round's own, in the study's objective; Other that under the
	// other target, NaN without score.both.
	Score, Other, TrainLoss float64
	// Examples counts those that the round's clients trained on, all passes.
	Examples int
	// TestError is the global model's after the round, NaN where it was not
	// measured.
	TestError float64
	// Seconds is as in Measured.
	Seconds float64
}

// Rounds calls f for every recorded round in the order of the record, until it
// returns an error.
func Rounds(ctx context.Context, s store.Reader, f func(RoundRow) error) error {
	began := false
	at := map[int]time.Time{} // when a trial's newest round ended or its plan was made
	return s.Each(ctx, func(r store.Row) error {
		when := time.UnixMilli(r.At)
		switch r.Kind {
		case KindSession:
			began = true
			clear(at)
			return nil
		case KindRung:
			delete(at, r.Trial)
			return nil
		case KindPlan:
			at[r.Trial] = when
			return nil
		}
		rec, err := decode[roundRecord](r.Kind, r.Data)
		if err != nil {
			return err
		}
		row := RoundRow{
			Trial: r.Trial, Round: r.Round, At: when, Score: float64(rec.Score), TrainLoss: float64(rec.TrainLoss), Examples: rec.Examples,
			Other: math.NaN(), TestError: math.NaN(), Seconds: math.NaN(),
		}
		if rec.Other != nil {
			row.Other = float64(*rec.Other)
		}
		if rec.TestError != nil {
			row.TestError = float64(*rec.TestError)
		}
		if rec.Seconds != nil {
			row.Seconds = float64(*rec.Seconds)
		}
		if began {
			row.Since = at[r.Trial]
		}
		at[r.Trial] = when
		return f(row)
	}, KindSession, KindPlan, KindRound, KindRung)
}
