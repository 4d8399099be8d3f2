package replay

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// pageRounds is how many recorded rounds are read at a time.
const pageRounds = 64

// Trial is what is recorded of a trial.
type Trial struct {
	past   *Past
	number int
	Opened *record.Trial
	Rounds int          // that the trial has run, 0 when none is recorded
	Rungs  map[int]bool // recorded, by round
	Fail   *record.Fail // nil unless it failed

	measured [][]tuners.Measured // sub-networks, by how often the tuner had them scored
	upTo     int64               // the last row that counts as recorded, if that is behind the study's
	page     []store.Row         // recorded rounds from the next one on, a few of them
}

// Trial returns what is recorded of a trial, nil for nothing.
func (p *Past) Trial(number int) *Trial { return p.trials[number] }

// NewTrial records that a trial is opened after base rounds, those of its source.
func (p *Past) NewTrial(number, base int, rec *record.Trial) (*Trial, error) {
	t := &Trial{past: p, number: number, Opened: rec, Rounds: base, Rungs: map[int]bool{}}
	return t, p.Append(store.KindTrial, number, base, rec)
}

// Measured returns what was recorded when sub-networks of the trial were scored for the
// n-th time, from 0.
func (t *Trial) Measured(n int) ([]tuners.Measured, bool) {
	if n >= len(t.measured) {
		return nil, false
	}
	return t.measured[n], true
}

// Round returns the record of the round that brought, or brings, the trial
// from a number of rounds to the next; nil when there is none.
func (t *Trial) Round(ctx context.Context, rounds int) (*record.Round, error) {
	data, err := t.RoundData(ctx, rounds)
	if err != nil || data == nil {
		return nil, err
	}
	return record.Decode[record.Round](store.KindRound, data)
}

// RoundData is the record of a round as it is stored.
func (t *Trial) RoundData(ctx context.Context, rounds int) ([]byte, error) {
	if rounds >= t.Rounds {
		return nil, nil
	}
	for len(t.page) > 0 && t.page[0].Round <= rounds {
		t.page = t.page[1:]
	}
	if len(t.page) == 0 || t.page[0].Round != rounds+1 {
		var err error
		if t.page, err = t.rows(ctx, store.KindRound, rounds+1, pageRounds); err != nil {
			return nil, err
		}
	}
	if len(t.page) == 0 || t.page[0].Round != rounds+1 {
		return nil, fmt.Errorf("trial %d: round %d is missing in the record", t.number, rounds+1)
	}
	return t.page[0].Data, nil
}

// Plan returns the client tuner's recorded plan of the round after a number of rounds,
// nil when there is none.
func (t *Trial) Plan(ctx context.Context, rounds int) ([]byte, error) {
	if t.past.Store == nil || rounds > t.Rounds {
		return nil, nil
	}
	rows, err := t.rows(ctx, store.KindPlan, rounds+1, 1)
	if err != nil || len(rows) == 0 || rows[0].Round != rounds+1 {
		return nil, err
	}
	return rows[0].Data, nil
}

func (t *Trial) rows(ctx context.Context, kind string, from, limit int) ([]store.Row, error) {
	return t.past.Store.Rows(ctx, t.number, kind, from, max(t.upTo, t.past.upTo), limit)
}

// Reread makes recorded ones of the rounds that this process has appended.
func (t *Trial) Reread(rounds int) error {
	t.Rounds, t.page = max(t.Rounds, rounds), nil
	if s := t.past.Store; s != nil {
		t.upTo = s.Seq()
	}
	return t.past.Flush()
}
