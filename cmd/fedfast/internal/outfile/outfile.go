// Package outfile checks before long work that its results can be written where
// they shall go.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File returns an error when a file cannot be written. It leaves nothing behind and
// changes nothing of a file that is there; no path at all, a device and a pipe are
// in order.
func File(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory, not a file", path)
	case !info.Mode().IsRegular():
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// create creates a file and removes it.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: directory %s not found", path, filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(path))
}

// Dir returns an error when a directory can neither be written into nor be made. It
// makes none, and leaves nothing behind.
func Dir(path string) error {
	if path == "" {
		return nil
	}
	there := filepath.Clean(path)
	for {
		info, err := os.Stat(there)
		if errors.Is(err, fs.ErrNotExist) && there != filepath.Dir(there) {
			there = filepath.Dir(there)
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s: %s is not a directory", path, there)
		}
		break
	}
	probe, err := os.CreateTemp(there, ".fedfast-*")
	if err != nil {
		return fmt.Errorf("%s: directory %s is not writable: %w", path, there, errors.Unwrap(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
