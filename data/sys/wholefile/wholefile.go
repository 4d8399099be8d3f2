// Package wholefile writes a file whole or not at all: under a temporary name in
// its folder, synced, renamed, and the folder synced. So neither a crash nor a full
// disk leaves half of it, and what was there before stays until then.
package wholefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write writes a file with the given content and, less the umask, permissions.
func Write(path string, content []byte, mode fs.FileMode) error {
	return Stream(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(content))
		return err
	})
}

// Stream writes a file with what write gives. A link is followed; a pipe or a device
// such as /dev/stdout is written as it is, since nothing could take its place.
func Stream(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if err := replace(path, mode, write); err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok && filepath.Dir(failed.Path) == filepath.Dir(path) {
			failed.Path = path // not the temporary name
		}
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// Clear removes what killed processes left of files that were to be written in a
// folder. No process may be writing them.
func Clear(folder string, names ...string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		for _, name := range names {
			digits, ok := strings.CutPrefix(e.Name(), "."+name)
			if ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
				errs = append(errs, os.Remove(filepath.Join(folder, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}
