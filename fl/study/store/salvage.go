package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
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
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA:
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
	var verdict string
	if err := s.db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return &damageError{verdict}
	}
	var err error
	s.seq, s.last, err = chain(ctx, s.db, func(Row, []byte) error { return nil })
	return err
}

// chain calls f for each row of the unbroken chain and returns its end. The error
// returns why it ends before the table does.
func chain(ctx context.Context, db *sql.DB, f func(Row, []byte) error) (seq int64, last []byte, err error) {
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM journal ORDER BY seq")
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		r, sum, err := scan(rows)
		if err != nil {
			return seq, last, &damageError{fmt.Sprintf("row %d cannot be read: %v", seq+1, err)}
		}
		if r.Seq != seq+1 || !bytes.Equal(sum, r.sum(last)) {
			return seq, last, &damageError{fmt.Sprintf("the checksum of row %d is wrong", seq+1)}
		}
		if err := f(r, sum); err != nil {
			return seq, last, err
		}
		seq, last = r.Seq, sum
	}
	return seq, last, rows.Err()
}

// salvage sets a damaged database aside and continues with a new one that holds
// the rows before the damage and the states that are whole.
func (s *Store) salvage(ctx context.Context, why error) error {
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
	seq, err := copyWhole(ctx, s.db, to)
	if err != nil {
		return err
	}
	_ = s.db.Close() // it is damaged
	if err := to.Close(); err != nil {
		return err
	}
	aside := s.path() + ".damaged"
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s.damaged-%d", s.path(), n)
	}
	if err := s.replace(fresh, aside); err != nil {
		return err
	}
	s.notes = append(s.notes, fmt.Sprintf("%s was damaged (%v); it is kept as %s, and the study goes on from the %d records before the damage", s.path(), why, aside, seq))
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

// copyWhole copies the unbroken beginning of the journal and the whole states.
func copyWhole(ctx context.Context, from, to *sql.DB) (seq int64, err error) {
	tx, err := to.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // without effect once committed
	var failed error                     // of writing; that of reading is the damage
	seq, _, _ = chain(ctx, from, func(r Row, sum []byte) error {
		failed = insert(ctx, tx, &batch{rows: []Row{r}, sums: [][]byte{sum}})
		return failed
	})
	if failed != nil {
		return 0, failed
	}
	if err := copyStates(ctx, from, tx); err != nil {
		return 0, err
	}
	return seq, tx.Commit()
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
