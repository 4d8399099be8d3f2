package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/filelock"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// Reader is what can be read of a study.
type Reader interface {
	// Each calls f for every committed row of the given kinds, or of any kind if none
	// is given, in order.
	Each(ctx context.Context, f func(Row) error, kinds ...string) error
}

// View is a study that is only looked at. Another process may work on it
// meanwhile.
type View struct {
	dir  string
	db   *sql.DB
	seal *Seal // nil of a directory
}

var (
	_ Reader = (*Store)(nil)
	_ Reader = (*View)(nil)
)

// NoStudyError is the error about a directory that contains no study, or does not exist.
type NoStudyError string

// Error says which of the two it is.
func (dir NoStudyError) Error() string {
	if _, err := os.Stat(string(dir)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: no such directory", string(dir))
	}
	return fmt.Sprintf("%s: contains no study (no %s)", string(dir), File)
}

// Is makes it an fs.ErrNotExist.
func (NoStudyError) Is(target error) bool { return target == fs.ErrNotExist }

// notBegunError is the error about a study in the moment before its record begins.
type notBegunError string

// Error names the directory.
func (dir notBegunError) Error() string { return string(dir) + ": the study has no record yet" }

// Is makes it an fs.ErrNotExist.
func (notBegunError) Is(target error) bool { return target == fs.ErrNotExist }

// Look opens the study in a directory, or in a file of View.Pack, for reading, whose rows have the
// checksums that fedfast wrote: a row is read for them once in a process. A directory without a study
// is an error that wraps fs.ErrNotExist.
func Look(ctx context.Context, dir string) (*View, error) {
	v, err := Glance(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := v.check(ctx); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Glance is Look without the checksums: for lists, which take no time for the rows.
func Glance(ctx context.Context, dir string) (*View, error) {
	if isFile(dir) {
		s, seal, err := Unpack(ctx, dir)
		if err != nil {
			return nil, err
		}
		s.timer.Stop()
		return &View{dir, s.db, seal}, nil
	}
	path := filepath.Join(dir, File)
	if !Exists(dir) {
		return nil, NoStudyError(dir)
	}
	err := checkFiles(dir)
	if err != nil {
		return nil, err
	}
	v := &View{dir: dir}
	// A directory that cannot be written is read as it is: no process can be at
	// work there.
	for _, options := range []url.Values{
		{"mode": {"ro"}},
		{"mode": {"ro"}, "immutable": {"1"}},
	} {
		var name string
		if name, err = fileURL(path, options); err != nil {
			return nil, err
		}
		if v.db, err = openBounded(name, "PRAGMA busy_timeout(10000)"); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		var begun bool
		if begun, err = checkFormat(ctx, v.db); begun && err == nil {
			err = checkSizes(ctx, v.db)
		}
		if begun && err == nil {
			return v, nil
		}
		_ = v.db.Close() // the first error stands
		if err == nil {
			return nil, notBegunError(dir)
		}
		if errors.Is(err, errFormat) || isBusy(err) || ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil, v.told(err)
}

// told names the file of an error, and the way out of damage.
func (v *View) told(err error) error {
	path := filepath.Join(v.dir, File)
	if isDamage(err) {
		return fmt.Errorf("%s: damaged (%w); `fedfast study resume %s` keeps it aside and goes on from what can be read", path, err, oneline.Path(v.dir))
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Close ends the reading.
func (v *View) Close() error { return v.db.Close() }

// Seal identifies what a pack holds; nil of a directory.
func (v *View) Seal() *Seal { return v.seal }

// checked are the ends of the chains that this process has read, by path.
var checked struct {
	sync.Mutex
	ends map[string]end
}

// check returns an error unless the rows have the checksums that fedfast wrote.
func (v *View) check(ctx context.Context) error {
	path, err := filepath.Abs(v.dir)
	if err != nil {
		return err
	}
	checked.Lock()
	from := checked.ends[path]
	checked.Unlock()
	var sum []byte
	if v.db.QueryRowContext(ctx, "SELECT sum FROM journal WHERE seq = ?", from.seq).Scan(&sum) != nil || !bytes.Equal(sum, from.sum) {
		from = end{} // it is another study
	}
	if from, err = chain(ctx, v.db, from, func(Row, []byte) error { return nil }); err != nil {
		return v.told(err)
	}
	checked.Lock()
	defer checked.Unlock()
	if checked.ends == nil {
		checked.ends = map[string]end{}
	}
	checked.ends[path] = from
	return nil
}

// Each calls f for every committed row of the given kinds, or of any kind if none is
// given, in order, until it returns an error.
func (v *View) Each(ctx context.Context, f func(Row) error, kinds ...string) error {
	return eachOf(ctx, v.db, f, kinds)
}

// EachState calls f for every state of a session that is kept and whole, until
// it returns an error.
func (v *View) EachState(ctx context.Context, f func(session, slot, calls int, data []byte) error) error {
	rows, err := v.db.QueryContext(ctx, "SELECT session, slot, calls, data, sum FROM states ORDER BY session, slot")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err tells
	for rows.Next() {
		var st state
		var sum []byte
		if err := rows.Scan(&st.session, &st.slot, &st.calls, &st.data, &sum); err != nil {
			return err
		}
		if !bytes.Equal(sum, st.sum()) {
			continue
		}
		if err := f(st.session, st.slot, st.calls, st.data); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Busy returns the process that works on the study, 0 for none.
func (v *View) Busy() int { return Busy(v.dir) }

// Busy returns the process that works on the study in a directory, 0 for none.
func Busy(dir string) int {
	f, err := regular.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }() // it was read only
	if free, err := locked(filelock.Share(f)); err != nil || free {
		return 0
	}
	return readPID(f)
}

// Tables are the views that can be exported, in the order in which they are
// shown.
func Tables() []string {
	return []string{"trials", "rounds", "rungs", "curves", "finalists", "models", "notes", "baseline", "decisions", "reports", "acts", "sessions", "workers", "worker_rounds", "jobs"}
}

// Table is the content of a view.
type Table struct {
	// Columns are the names.
	Columns []string
	// Rows hold a value a column: nil, int64, float64 or string.
	Rows [][]any
}

// ownViews makes this version's views for a connection alone: those in the file may
// be of an earlier one.
var ownViews = "PRAGMA temp_store = MEMORY;\n" +
	strings.NewReplacer("DROP VIEW IF EXISTS ", "DROP VIEW IF EXISTS temp.", "CREATE VIEW ", "CREATE TEMP VIEW ").Replace(views)

// Table reads a view whole, one of Tables, ordered by its first two columns.
func (v *View) Table(ctx context.Context, name string) (*Table, error) {
	return v.Part(ctx, name, 0, 0)
}

// Part reads rows of a view as Table does: at most limit after the first ones, all of these
// if limit is 0.
func (v *View) Part(ctx context.Context, name string, after, limit int) (*Table, error) {
	known := false
	for _, t := range Tables() {
		known = known || t == name
	}
	if !known {
		return nil, fmt.Errorf("unknown table %q; available: %s", name, strings.Join(Tables(), ", "))
	}
	conn, err := v.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // it was read only
	if _, err := conn.ExecContext(ctx, ownViews); err != nil {
		return nil, err
	}
	limit = cmp.Or(limit, -1) // in SQLite: all
	rows, err := conn.QueryContext(ctx, "SELECT * FROM "+name+" ORDER BY 1, 2 LIMIT ? OFFSET ?", limit, after)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	t := &Table{}
	if t.Columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(t.Columns))
		into := list.Made(len(values), func(i int) any { return &values[i] })
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, x := range values {
			if text, ok := x.([]byte); ok {
				values[i] = string(text)
			}
		}
		t.Rows = append(t.Rows, values)
	}
	if name == "trials" && v.Busy() == 0 {
		t.interrupt()
	}
	return t, rows.Err()
}

// interrupt says of trials that run, of a study on which no process works, that they
// were interrupted, which the view cannot know.
func (t *Table) interrupt() {
	at := slices.Index(t.Columns, "state")
	for _, row := range t.Rows {
		if row[at] == "running" {
			row[at] = "interrupted"
		}
	}
}
