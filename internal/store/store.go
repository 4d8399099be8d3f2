package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// File names the database of a study.
const File = "study.db"

// Store is a study's directory that this process works on. Its methods may be
// called from several goroutines.
type Store struct {
	dir    string
	lock   *os.File
	db     *sql.DB
	notes  []string
	notice func(string)
	memory bool // it has no file, see Unpack

	committing sync.Mutex // held while a batch is written
	mu         sync.Mutex // guards what follows
	waiting    batch
	timer      *time.Timer
	seq        int64  // of the last row
	last       []byte // its checksum
	err        error  // the first of a commit
}

// Open takes the lock of a study's directory, makes the directory and the
// database where there are none, and checks what is there. Rows from the first
// damaged one on are set aside, see Notes. A directory in which another process
// works is a *BusyError.
func Open(ctx context.Context, dir string) (*Store, error) { return OpenAfter(ctx, dir, nil, nil) }

// OpenAfter is Open that calls first, unless it is nil, with the lock held and
// before it makes a database. Where a write, now or later, waits for another program that has
// locked the database, notice is told, unless it is nil, from any goroutine.
func OpenAfter(ctx context.Context, dir string, first func() error, notice func(string)) (*Store, error) {
	if err := checkFiles(dir); err != nil {
		return nil, err
	}
	if err := wholefile.Folder(filepath.Join(dir, snapshotDir)); err != nil {
		return nil, fmt.Errorf("study directory: %w", err)
	}
	lock, err := takeLock(dir)
	if _, busy := errors.AsType[*BusyError](err); busy {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("study directory: %w", err)
	}
	if first != nil {
		if err := first(); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	s := &Store{dir: dir, lock: lock, notice: notice}
	s.timer = time.AfterFunc(time.Hour, func() { _ = s.Flush() }) // the error stands for the next caller
	s.timer.Stop()
	if err := s.open(ctx); err != nil {
		s.timer.Stop()
		if s.db != nil {
			_ = s.db.Close() // the first error stands
		}
		_ = s.lock.Close()
		return nil, fmt.Errorf("%s: %w", s.path(), err)
	}
	return s, nil
}

// open opens the database, or what can be saved of it.
func (s *Store) open(ctx context.Context) error {
	if err := wholefile.Clear(filepath.Join(s.dir, snapshotDir)); err != nil {
		return err
	}
	db, err := openDB(s.path())
	if err != nil {
		return err
	}
	s.db = db
	begun, err := checkFormat(ctx, db)
	if err == nil && begun {
		err = s.check(ctx) // before anything is written
	}
	if err == nil {
		err = s.patiently(func() error { return prepare(ctx, db, begun) })
	}
	switch {
	case err != nil && isDamage(err):
		return s.salvage(ctx, err)
	case err == nil && s.seq == 0:
		return s.noteLoss()
	}
	return err
}

// noteLoss tells of a database that is empty although it was not.
func (s *Store) noteLoss() error {
	names, err := s.Snapshots()
	if err == nil && len(names) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%s holds no records although there are snapshots; the study begins again", s.path()))
	}
	return err
}

// checkFiles returns an error where one of the files of a database is there and no
// regular one. SQLite would open it and, of a pipe, wait for ever.
func checkFiles(dir string) error {
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := regular.Check(filepath.Join(dir, File+end)); err != nil {
			return err
		}
	}
	return nil
}

// openDB opens a database for work, without touching it yet.
func openDB(path string) (*sql.DB, error) {
	name, err := fileURL(path, url.Values{"_txlock": {"immediate"}})
	if err != nil {
		return nil, err
	}
	db, err := openBounded(name, "PRAGMA busy_timeout(1000); PRAGMA journal_mode(WAL); PRAGMA synchronous(FULL); PRAGMA cache_size(-1024)")
	if err != nil {
		return nil, err
	}
	// Each connection has a cache of pages, 1 MiB. One is for the commits beside
	// the rounds, one for whoever reads.
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(2)
	return db, nil
}

// fileURL writes a path as SQLite takes it with options.
func fileURL(path string, options url.Values) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	full = filepath.ToSlash(full)
	if !strings.HasPrefix(full, "/") {
		full = "/" + full // a drive letter
	}
	u := url.URL{Scheme: "file", Path: full, RawQuery: options.Encode()}
	return u.String(), nil
}

func (s *Store) path() string { return filepath.Join(s.dir, File) }

// Dir returns the study's directory.
func (s *Store) Dir() string { return s.dir }

// Notes describes in sentences what was found damaged when the study was opened, and
// what is used instead.
func (s *Store) Notes() []string { return s.notes }

// Exists reports whether a directory holds a study's database.
func Exists(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, File))
	return err == nil
}

// Close commits what waits and releases the lock.
func (s *Store) Close() error {
	s.timer.Stop()
	if s.memory {
		return s.db.Close()
	}
	return errors.Join(s.Flush(), s.db.Close(), s.lock.Close())
}

// Discard closes the store and deletes what it made: a study in which nothing
// happened.
func (s *Store) Discard() error {
	err := s.Close()
	for _, name := range []string{File, File + "-wal", File + "-shm", lockFile} {
		if e := os.Remove(filepath.Join(s.dir, name)); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, os.Remove(filepath.Join(s.dir, snapshotDir)))
}
