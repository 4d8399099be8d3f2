package result

import (
	"context"
	"time"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
)

// RoundRow is a recorded round of a trial.
type RoundRow struct {
	Trial int
	// Round is how many rounds the trial had run.
	Round int
	// At is when it ended; Since is when it began, as far as that is recorded: it
	// is not for the first round after a decision, nor for rounds that were
	// shared with another study, whose Since is the zero time.
	At, Since time.Time
	Measured
}

// Rounds calls f for every recorded round in the order of the record, until it
// returns an error.
func Rounds(ctx context.Context, s store.Reader, f func(RoundRow) error) error {
	began := false
	at := map[int]time.Time{} // when a trial's newest round ended or its plan was made
	return s.Each(ctx, func(r store.Row) error {
		when := time.UnixMilli(r.At)
		switch r.Kind {
		case store.KindSession:
			began = true
			clear(at)
			return nil
		case store.KindRung:
			delete(at, r.Trial)
			return nil
		case store.KindPlan:
			at[r.Trial] = when
			return nil
		}
		rec, err := record.Decode[record.Round](r.Kind, r.Data)
		if err != nil {
			return err
		}
		row := RoundRow{Trial: r.Trial, Round: r.Round, At: when, Measured: *measuredOf(rec)}
		if began {
			row.Since = at[r.Trial]
		}
		at[r.Trial] = when
		return f(row)
	}, store.KindSession, store.KindPlan, store.KindRound, store.KindRung)
}
