package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// A snapshot is a file: the magic, what was written, and the SHA-256 of both.
const (
	snapshotDir   = "snapshots"
	snapshotEnd   = ".snap"
	snapshotMagic = "fedfast snapshot 1\n"
)

// ErrDamaged is wrapped by the error of a snapshot whose checksum is wrong.
var ErrDamaged = errors.New("checksum mismatch")

// WriteSnapshot writes a snapshot: rows appended so far are committed, then the
// file is written whole or not at all. A snapshot of that name is replaced only
// when the new one is whole.
func (s *Store) WriteSnapshot(name string, write func(io.Writer) error) error {
	if err := s.Flush(); err != nil || s.memory {
		return err
	}
	err := wholefile.Stream(s.snapshotPath(name), 0o644, func(f io.Writer) error { return writeSummed(f, write) })
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", name, err)
	}
	return nil
}

func (s *Store) snapshotPath(name string) string {
	return filepath.Join(s.dir, snapshotDir, name+snapshotEnd)
}

// writeSummed writes what a snapshot's file holds.
func writeSummed(f io.Writer, write func(io.Writer) error) error {
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<18)
	if _, err := io.WriteString(w, snapshotMagic); err != nil {
		return err
	}
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := f.Write(sum.Sum(nil))
	return err
}

// ReadSnapshot reads a snapshot after its checksum was found right. The error
// wraps ErrDamaged when it is wrong and fs.ErrNotExist when there is none.
func (s *Store) ReadSnapshot(name string, read func(io.Reader) error) error {
	if err := s.readSnapshot(name, read); err != nil {
		return fmt.Errorf("snapshot %s: %w", name, err)
	}
	return nil
}

func (s *Store) readSnapshot(name string, read func(io.Reader) error) error {
	if s.memory {
		return fs.ErrNotExist
	}
	f, err := regular.Open(s.snapshotPath(name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size() - sha256.Size
	if size < int64(len(snapshotMagic)) {
		return fmt.Errorf("%w: only %d bytes", ErrDamaged, info.Size())
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size)); err != nil {
		return err
	}
	stored := make([]byte, sha256.Size)
	if _, err := f.ReadAt(stored, size); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), stored) {
		return ErrDamaged
	}
	head := make([]byte, len(snapshotMagic))
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if string(head) != snapshotMagic {
		return fmt.Errorf("begins with %q: not a snapshot of this version", head)
	}
	return read(bufio.NewReaderSize(io.NewSectionReader(f, int64(len(head)), size-int64(len(head))), 1<<18))
}

// Snapshots returns the names of the snapshots, sorted.
func (s *Store) Snapshots() ([]string, error) {
	if s.memory {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, snapshotDir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), snapshotEnd); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// ShareSnapshots takes the snapshots of another study: as further names of the
// same files where the system can, else as copies. Neither study changes a
// snapshot once it is written.
func (s *Store) ShareSnapshots(from *View) error {
	paths, err := filepath.Glob(filepath.Join(from.dir, snapshotDir, "*"+snapshotEnd))
	if err != nil {
		return err
	}
	for _, path := range paths {
		to := filepath.Join(s.dir, snapshotDir, filepath.Base(path))
		if os.Link(path, to) == nil {
			continue
		}
		if err := copyFile(path, to); err != nil {
			return fmt.Errorf("snapshot of %s: %w", from.dir, err)
		}
	}
	return wholefile.SyncFolder(filepath.Join(s.dir, snapshotDir))
}

// copyFile copies a file, whole or not at all.
func copyFile(path, to string) error {
	r, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was read only
	return wholefile.Stream(to, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// RemoveSnapshot deletes a snapshot, if it is there.
func (s *Store) RemoveSnapshot(name string) error {
	if s.memory {
		return nil
	}
	if err := os.Remove(s.snapshotPath(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
