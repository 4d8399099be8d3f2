package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// damageError describes what is wrong with a database.
type damageError struct{ what string }

func (e *damageError) Error() string { return e.what }

// isDamage reports whether an error tells of damaged content, and not of a full
// disk, missing rights or the like.
func isDamage(err error) bool {
	if _, ok := errors.AsType[*damageError](err); ok {
		return true
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA:
		return true
	}
	return false
}

// isBusy reports whether an error tells that another program has locked a database.
func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// patience is how long a write waits for another program that has locked the database.
const patience = 10 * time.Minute

// patiently writes to the database, again while another program has locked it, of which it
// tells once.
func (s *Store) patiently(write func() error) error {
	began, told := time.Now(), false
	for {
		err := write()
		if !isBusy(err) {
			return err
		}
		if time.Since(began) > patience {
			return fmt.Errorf("another program, such as sqlite3 or a backup, has locked it for %v: %w", patience, err)
		}
		if s.notice != nil && !told {
			s.notice(fmt.Sprintf("%s: another program, such as sqlite3 or a backup, has locked it; waiting for up to %v", s.path(), patience))
			told = true
		}
	}
}

// check tests the structure of the database and the chain of the journal, and
// finds the end of the chain.
func (s *Store) check(ctx context.Context) error {
	if err := checkSizes(ctx, s.db); err != nil {
		return err
	}
	var verdict string
	if err := s.db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return &damageError{verdict}
	}
	at, err := chain(ctx, s.db, end{}, func(Row, []byte) error { return nil })
	s.seq, s.last = at.seq, at.sum
	return err
}

// checkSizes refuses rows that no study writes: with text in place of numbers, or longer than
// they are. It reads none of them, since they may be longer than the memory.
func checkSizes(ctx context.Context, db *sql.DB) error {
	const integer = ") <> 'integer' OR typeof("
	var table string
	var row int64
	err := db.QueryRowContext(ctx, "SELECT 'journal', seq FROM journal NOT INDEXED WHERE typeof(at"+integer+"trial"+integer+`round) <> 'integer'
OR octet_length(kind) > 32 OR octet_length(sum) > 16 OR octet_length(data) > ?
UNION ALL SELECT 'states', rowid FROM states NOT INDEXED WHERE typeof(session`+integer+"slot"+integer+`calls) <> 'integer'
OR octet_length(sum) > 16 OR octet_length(data) > ? LIMIT 1`, maxData, maxData).Scan(&table, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = &damageError{fmt.Sprintf("row %d of %s is longer than fedfast writes, or holds text for a number", row, table)}
	}
	return err
}

// end is the end of a chain: its last row and the checksum of that.
type end struct {
	seq int64
	sum []byte
}

// chain calls f for each row of the unbroken chain after an end, and returns its new end. The
// error says why that is before the end of the table.
func chain(ctx context.Context, db *sql.DB, at end, f func(Row, []byte) error) (end, error) {
	first := int64(math.MinInt64)
	if at.sum != nil {
		first = at.seq + 1
	}
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM journal WHERE seq >= ? ORDER BY seq", first)
	if err != nil {
		return at, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		r, sum, err := scan(rows)
		if err != nil {
			return at, &damageError{fmt.Sprintf("row %d cannot be read: %v", at.seq+1, err)}
		}
		if r.Seq != at.seq+1 || !bytes.Equal(sum, r.sum(at.sum)) {
			return at, &damageError{fmt.Sprintf("the checksum of row %d is wrong", at.seq+1)}
		}
		if err := f(r, sum); err != nil {
			return at, err
		}
		at = end{r.Seq, sum}
	}
	return at, rows.Err()
}

// salvage sets a damaged database aside and continues with a new one that holds
// the rows before the damage and the states that are whole.
func (s *Store) salvage(ctx context.Context, why error) error {
	aside := s.path() + ".damaged"
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s.damaged-%d", s.path(), n)
	}
	if err := s.renew(ctx, aside, nil); err != nil {
		return err
	}
	s.notes = append(s.notes, fmt.Sprintf("%s was damaged (%v); it is kept as %s, and the study goes on from the %d records before the damage", s.path(), why, aside, s.seq))
	return nil
}

// Rewrite makes a journal of the rows for which edit reports true, as it leaves them. No session's
// state is kept, since it may know of other rows. A crash leaves the one journal or the other.
func (s *Store) Rewrite(ctx context.Context, edit func(*Row) (bool, error)) error {
	aside := s.path() + ".before"
	err := errors.Join(s.Flush(), removeDB(aside))
	if err == nil {
		err = s.renew(ctx, aside, edit)
	}
	return errors.Join(err, removeDB(aside))
}

// renew continues with a new database that holds what is whole, or as edit leaves it, and sets the
// old one aside.
func (s *Store) renew(ctx context.Context, aside string, edit func(*Row) (bool, error)) error {
	fresh := s.path() + ".new"
	if err := removeDB(fresh); err != nil {
		return err
	}
	to, err := openDB(fresh)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // closed below when all is well
	if err := prepare(ctx, to, false); err != nil {
		return err
	}
	if err := copyWhole(ctx, s.db, to, edit); err != nil {
		return err
	}
	_ = s.db.Close() // it may be damaged
	if err := to.Close(); err != nil {
		return err
	}
	if err := s.replace(fresh, aside); err != nil {
		return err
	}
	if s.db, err = openDB(s.path()); err != nil {
		return err
	}
	return s.check(ctx)
}

// replace puts a closed database instead of the study's, which it sets aside.
// A crash leaves one of the two under the name, and none of them with the other
// one's log.
func (s *Store) replace(fresh, aside string) error {
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Rename(s.path()+end, aside+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if os.Link(s.path(), aside) != nil { // a system without a second name for a file
		if err := os.Rename(s.path(), aside); err != nil {
			return err
		}
	}
	if err := wholefile.SyncFolder(s.dir); err != nil {
		return err
	}
	if err := os.Rename(fresh, s.path()); err != nil {
		return err
	}
	return wholefile.SyncFolder(s.dir)
}

func removeDB(path string) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyWhole copies the unbroken beginning of the journal and the whole states, or with edit the
// rows that it leaves.
func copyWhole(ctx context.Context, from, to *sql.DB, edit func(*Row) (bool, error)) error {
	tx, err := to.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect once committed
	var failed error                     // of writing; that of reading is the damage
	var at end
	_, _ = chain(ctx, from, end{}, func(r Row, _ []byte) error {
		keep := true
		if edit != nil {
			keep, failed = edit(&r)
		}
		if keep && failed == nil {
			r.Seq = at.seq + 1
			at = end{r.Seq, r.sum(at.sum)}
			failed = insert(ctx, tx, &batch{rows: []Row{r}, sums: [][]byte{at.sum}})
		}
		return failed
	})
	if failed != nil {
		return failed
	}
	if edit == nil {
		if err := copyStates(ctx, from, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// copyStates copies the states whose checksum is right, as far as they can be
// read.
func copyStates(ctx context.Context, from *sql.DB, tx *sql.Tx) error {
	rows, err := from.QueryContext(ctx, "SELECT session, slot, calls, data, sum FROM states")
	if err != nil {
		return nil //nolint:nilerr // an unreadable table holds nothing to save
	}
	defer func() { _ = rows.Close() }() // what it held is damaged
	for rows.Next() {
		var st state
		var sum []byte
		if rows.Scan(&st.session, &st.slot, &st.calls, &st.data, &sum) != nil || !bytes.Equal(sum, st.sum()) {
			continue
		}
		if err := insert(ctx, tx, &batch{states: map[[2]int]state{{st.session, st.slot}: st}}); err != nil {
			return err
		}
	}
	return nil
}
