package store

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// Last returns the number of the last committed row, 0 where there is none.
func (v *View) Last(ctx context.Context) (int64, error) {
	var seq sql.NullInt64
	err := v.db.QueryRowContext(ctx, "SELECT max(seq) FROM journal").Scan(&seq)
	return seq.Int64, err
}

// inList writes a condition on the kinds of rows; none are all.
func inList(kinds []string, args []any) (string, []any) {
	if len(kinds) == 0 {
		return "TRUE", args
	}
	for _, kind := range kinds {
		args = append(args, kind)
	}
	return "kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")", args
}

// Since calls f for the committed rows of some kinds after the row numbered after,
// in order, at most limit of them, until it returns an error.
func (v *View) Since(ctx context.Context, after int64, limit int, f func(Row) error, kinds ...string) error {
	in, args := inList(kinds, []any{after})
	return each(ctx, v.db, "SELECT "+columns+" FROM journal WHERE seq > ? AND "+in+" ORDER BY seq LIMIT ?", f, append(args, limit)...)
}

// Of calls f for the committed rows of some kinds about a trial, after a round of
// it, in the order of rounds and rows, until it returns an error.
func (v *View) Of(ctx context.Context, trial, after int, f func(Row) error, kinds ...string) error {
	in, args := inList(kinds, []any{trial, after})
	return each(ctx, v.db, "SELECT "+columns+" FROM journal WHERE trial = ? AND round > ? AND "+in+" ORDER BY round, seq", f, args...)
}

// everyTrial are the different values of the column trial. The index finds each at
// once; DISTINCT would go through all rows.
const everyTrial = `WITH RECURSIVE every(trial) AS (
	SELECT min(trial) FROM journal
	UNION ALL SELECT (SELECT min(j.trial) FROM journal j WHERE j.trial > every.trial) FROM every WHERE every.trial IS NOT NULL)
`

// Few calls f for every committed row of some kinds up to the row numbered upTo in
// order, as Each does, but takes no time for the rows of other kinds, however many
// there are.
func (v *View) Few(ctx context.Context, upTo int64, f func(Row) error, kinds ...string) error {
	in, args := inList(kinds, nil)
	return each(ctx, v.db, everyTrial+"SELECT "+columns+" FROM journal WHERE trial IN (SELECT trial FROM every) AND "+in+" AND seq <= ? ORDER BY seq", f, append(args, upTo)...)
}

// Latest is the last row of a kind about a trial.
type Latest struct {
	Round int
	At    time.Time
}

// Latest returns for each trial the row of a kind with the highest round, of those
// up to the row numbered upTo.
func (v *View) Latest(ctx context.Context, upTo int64, kind string) (map[int]Latest, error) {
	rows, err := v.db.QueryContext(ctx, everyTrial+`SELECT j.trial, j.round, j.at FROM every
JOIN journal j ON j.seq = (SELECT l.seq FROM journal l WHERE l.trial = every.trial AND l.kind = ? AND l.seq <= ? ORDER BY l.round DESC LIMIT 1)`, kind, upTo)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	last := map[int]Latest{}
	for rows.Next() {
		var trial int
		var at int64
		var l Latest
		if err := rows.Scan(&trial, &l.Round, &at); err != nil {
			return nil, err
		}
		l.At = time.UnixMilli(at)
		last[trial] = l
	}
	return last, rows.Err()
}

// LastBefore returns when the last row before a moment of the record was appended.
func (v *View) LastBefore(ctx context.Context, seq int64) (time.Time, error) {
	var at int64
	err := v.db.QueryRowContext(ctx, "SELECT at FROM journal WHERE seq < ? ORDER BY seq DESC LIMIT 1", seq).Scan(&at)
	return time.UnixMilli(at), err
}
