// Package wholefile writes a file whole or not at all: under a temporary name in
// its folder, synced, renamed, and the folder synced. So neither a crash nor a full
// disk leaves half of it, and what was there before stays until then.
package wholefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// Write writes a file with the given content and, less the umask, permissions.
func Write(path string, content []byte, mode fs.FileMode) error {
	return Stream(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(content))
		return err
	})
}

// WriteJSON writes a value as indented JSON, and makes the file's folder if need be.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = Folder(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	return Write(path, append(text, '\n'), 0o644)
}

// Stream writes a file with what write gives.
func Stream(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := write(f); err != nil {
		return f.named(err)
	}
	return f.Commit()
}

// pending is a file under a temporary name.
type pending interface {
	io.Writer
	// CloseAtomicallyReplace syncs the file and gives it its name.
	CloseAtomicallyReplace() error
	// Cleanup removes the file, unless it has its name.
	Cleanup() error
}

// File is one that is being written.
type File struct {
	path string
	to   pending
}

// Create begins a file, which stands under its name from Commit on. A link is
// followed; a pipe or a device such as /dev/stdout is written as it is, since
// nothing could take its place.
func Create(path string, mode fs.FileMode) (*File, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f := &File{path: path}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		out, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		f.to = &device{File: out}
		return f, nil
	}
	var err error
	if f.to, err = newPending(path, mode); err != nil {
		return nil, f.named(err)
	}
	return f, nil
}

// Write appends to the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	if err != nil {
		err = f.named(err)
	}
	return n, err
}

// Commit ends the file: it is on the disk, and under its name.
func (f *File) Commit() error {
	if err := f.to.CloseAtomicallyReplace(); err != nil {
		return f.named(err)
	}
	if _, ok := f.to.(*device); ok {
		return nil
	}
	return SyncFolder(filepath.Dir(f.path))
}

// Close removes a file that was not committed.
func (f *File) Close() error { return f.to.Cleanup() }

// named gives an error of the temporary file the name that it was to have.
func (f *File) named(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok && filepath.Dir(failed.Path) == filepath.Dir(f.path) {
		failed.Path = f.path
	}
	return err
}

// device is a file that nothing takes the place of.
type device struct {
	*os.File
	closed bool
}

// CloseAtomicallyReplace closes it.
func (d *device) CloseAtomicallyReplace() error {
	d.closed = true
	return d.Close()
}

// Cleanup closes it, too.
func (d *device) Cleanup() error {
	if d.closed {
		return nil
	}
	return d.CloseAtomicallyReplace()
}

// Folder makes a folder and those above it that are not there, so that their names
// last: without it all in a folder may be lost, however well it was written.
func Folder(path string) error {
	path = filepath.Clean(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := Folder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		if info, e := os.Stat(path); e == nil && info.IsDir() {
			return nil // another process made it
		}
		return err
	}
	return SyncFolder(above)
}

// Clear removes what killed processes left of files that were to be written in a
// folder: of some, or of all where none are named. No process may be writing them.
func Clear(folder string, names ...string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), ".")
		least := len(strings.TrimRight(rest, "0123456789"))
		of := func(name string) bool {
			return strings.HasPrefix(rest, name) && least <= len(name) && len(name) < len(rest)
		}
		if ok && least < len(rest) && (len(names) == 0 || slices.ContainsFunc(names, of)) {
			errs = append(errs, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// MostRead bounds the files of Read: records of configurations and results, which have some
// kB, or MB with many trials. A sparse file takes no room on a disk and may say that it has any size.
const MostRead = 256 << 20

// Read returns the content of a regular file of at most MostRead bytes, for which there must be
// memory. The error names the path; that of one that is not there wraps fs.ErrNotExist.
func Read(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > MostRead {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it has %s, must have at most %s", memory.Size(info.Size()), memory.Size(MostRead))}
	}
	if err := memory.Check(info.Size()); err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return io.ReadAll(io.LimitReader(f, MostRead))
}
