package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// Row is a row of the journal.
type Row struct {
	// Seq numbers the rows 1, 2, 3, ...
	Seq int64
	// At is when it was appended, in milliseconds of Unix time.
	At int64
	// Kind describes what Data holds.
	Kind string
	// Trial and Round say what it is about; -1 is the study.
	Trial, Round int
	// Data is JSON.
	Data []byte
}

// sum is the checksum of a row: the first half of SHA-256 over the checksum
// before it and its own fields.
func (r *Row) sum(before []byte) []byte {
	head := make([]byte, 0, 96)
	head = append(head, before...)
	for _, n := range []int64{r.Seq, r.At, int64(r.Trial), int64(r.Round), int64(len(r.Kind))} {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	h := sha256.New()
	h.Write(append(head, r.Kind...))
	h.Write(r.Data)
	return h.Sum(nil)[:16]
}

// state is a session's state to be written.
type state struct {
	session, slot, calls int
	data                 []byte
}

func (st *state) sum() []byte {
	h := sha256.New()
	var head []byte
	for _, n := range []int{st.session, st.slot, st.calls} {
		head = binary.LittleEndian.AppendUint64(head, uint64(n))
	}
	h.Write(head)
	h.Write(st.data)
	return h.Sum(nil)[:16]
}

// batch is what one transaction writes.
type batch struct {
	rows   []Row
	sums   [][]byte
	states map[[2]int]state // the newest of each session and slot
	bytes  int
}

func (b *batch) empty() bool { return len(b.rows) == 0 && len(b.states) == 0 }

const (
	// commitAfter is how long rows wait for others to share a transaction.
	commitAfter = 100 * time.Millisecond
	// commitBytes bounds the memory of waiting rows.
	commitBytes = 16 << 20
)

// Append adds a row to the journal. It is committed with others after 100 ms,
// or by Flush. The first error of a commit is returned here from then on.
func (s *Store) Append(kind string, trial, round int, data []byte) error {
	if len(data) > maxData {
		return fmt.Errorf("record of kind %s: has %s, must have at most %s", kind, memory.Size(int64(len(data))), memory.Size(maxData))
	}
	return s.add(len(data), func(b *batch) {
		s.append(b, Row{At: time.Now().UnixMilli(), Kind: kind, Trial: trial, Round: round, Data: data})
	})
}

// append adds a row to a batch, with its number and checksum.
func (s *Store) append(b *batch, r Row) {
	s.seq++
	r.Seq, r.Data = s.seq, bytes.Clone(r.Data)
	s.last = r.sum(s.last)
	b.rows = append(b.rows, r)
	b.sums = append(b.sums, s.last)
}

// SetState keeps the state of a session after a number of calls in one of its
// slots, in place of the one before. It is committed with the rows.
func (s *Store) SetState(session, slot, calls int, data []byte) error {
	return s.add(len(data), func(b *batch) {
		if b.states == nil {
			b.states = map[[2]int]state{}
		}
		b.states[[2]int{session, slot}] = state{session, slot, calls, bytes.Clone(data)}
	})
}

// add puts something into the batch that waits.
func (s *Store) add(size int, put func(*batch)) error {
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	if s.waiting.empty() {
		s.timer.Reset(commitAfter)
	}
	put(&s.waiting)
	s.waiting.bytes += size
	full := s.waiting.bytes > commitBytes
	s.mu.Unlock()
	if full {
		return s.Flush()
	}
	return nil
}

// Flush commits what waits.
func (s *Store) Flush() error {
	s.committing.Lock()
	defer s.committing.Unlock()
	s.mu.Lock()
	b, err := s.waiting, s.err
	s.waiting = batch{}
	s.mu.Unlock()
	if err != nil || b.empty() {
		return err
	}
	if err := s.patiently(func() error { return s.commit(&b) }); err != nil {
		err = fmt.Errorf("%s: %w", s.path(), err)
		s.mu.Lock()
		s.err = err
		s.mu.Unlock()
		return err
	}
	return nil
}

// commit writes a batch in one transaction.
func (s *Store) commit(b *batch) error {
	ctx := context.Background() // what has happened is recorded, come what may
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect once committed
	if err := insert(ctx, tx, b); err != nil {
		return err
	}
	return tx.Commit()
}

// insert writes a batch into a transaction.
func insert(ctx context.Context, tx *sql.Tx, b *batch) error {
	if len(b.rows) > 0 {
		put, err := tx.PrepareContext(ctx, "INSERT INTO journal (seq, at, kind, trial, round, data, sum) VALUES (?, ?, ?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer func() { _ = put.Close() }() // it ends with the transaction
		for i := range b.rows {
			r := &b.rows[i]
			if _, err := put.ExecContext(ctx, r.Seq, r.At, r.Kind, r.Trial, r.Round, string(r.Data), b.sums[i]); err != nil {
				return err
			}
		}
	}
	for _, st := range b.states {
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO states (session, slot, calls, data, sum) VALUES (?, ?, ?, ?, ?)",
			st.session, st.slot, st.calls, st.data, st.sum()); err != nil {
			return err
		}
	}
	return nil
}

// Seq returns the number of the last row.
func (s *Store) Seq() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// columns are the columns of a Row with its checksum.
const columns = "seq, at, kind, trial, round, data, sum"

// scan reads a row and its checksum.
func scan(rows *sql.Rows) (r Row, sum []byte, err error) {
	err = rows.Scan(&r.Seq, &r.At, &r.Kind, &r.Trial, &r.Round, &r.Data, &sum)
	return r, sum, err
}

// Each calls f for every committed row of the given kinds, or of any kind if none is
// given, in order, until it returns an error.
func (s *Store) Each(ctx context.Context, f func(Row) error, kinds ...string) error {
	return eachOf(ctx, s.db, f, kinds)
}

func eachOf(ctx context.Context, db *sql.DB, f func(Row) error, kinds []string) error {
	in, args := inList(kinds, nil)
	return each(ctx, db, "SELECT "+columns+" FROM journal WHERE "+in+" ORDER BY seq", f, args...)
}

// LastRounds returns for each trial the highest round of its rows of a kind.
func (s *Store) LastRounds(ctx context.Context, kind string) (map[int]int, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT trial, max(round) FROM journal WHERE kind = ? GROUP BY trial", kind)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	last := map[int]int{}
	for rows.Next() {
		var trial, round int
		if err := rows.Scan(&trial, &round); err != nil {
			return nil, err
		}
		last[trial] = round
	}
	return last, rows.Err()
}

// Elapsed returns how long processes have worked on the study: the time from
// each row of the kind that begins a session to the last row before the next.
func (s *Store) Elapsed(ctx context.Context, begin string) (time.Duration, error) {
	var ms sql.NullInt64
	err := s.db.QueryRowContext(ctx, `
WITH begins AS (SELECT seq, at, lead(seq, 1, 1 << 62) OVER (ORDER BY seq) AS next FROM journal WHERE kind = ?)
SELECT sum((SELECT j.at FROM journal j WHERE j.seq < begins.next ORDER BY j.seq DESC LIMIT 1) - begins.at) FROM begins`, begin).Scan(&ms)
	return time.Duration(ms.Int64) * time.Millisecond, err
}

func each(ctx context.Context, db *sql.DB, query string, f func(Row) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		r, _, err := scan(rows)
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Rows returns up to limit committed rows of a kind about a trial, from a round
// on, in order of their rounds and not after the row numbered upTo.
func (s *Store) Rows(ctx context.Context, trial int, kind string, round int, upTo int64, limit int) ([]Row, error) {
	var found []Row
	err := each(ctx, s.db, "SELECT "+columns+" FROM journal WHERE trial = ? AND kind = ? AND round >= ? AND seq <= ? ORDER BY round LIMIT ?", func(r Row) error {
		found = append(found, r)
		return nil
	}, trial, kind, round, upTo, limit)
	return found, err
}

// State returns the newest state of a session after at most a number of calls, and
// after how many it is. Nothing is found where all are damaged or there is none.
func (s *Store) State(ctx context.Context, session, calls int) (data []byte, at int, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT slot, calls, data, sum FROM states WHERE session = ? AND calls <= ? ORDER BY calls DESC", session, calls)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		st := state{session: session}
		var sum []byte
		if err := rows.Scan(&st.slot, &st.calls, &st.data, &sum); err != nil {
			return nil, 0, err
		}
		if bytes.Equal(sum, st.sum()) {
			if st.data == nil {
				st.data = []byte{}
			}
			return st.data, st.calls, nil
		}
	}
	return nil, 0, rows.Err()
}
