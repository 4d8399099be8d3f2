package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// newPending does what renameio, which is not for Windows, does: there, too, a
// rename takes the place of a file, unless another process has it open.
func newPending(path string, mode fs.FileMode) (pending, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	t := &temporary{File: f, path: path}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, t.Cleanup())
	}
	return t, nil
}

// temporary is a file that has not taken its place.
type temporary struct {
	*os.File
	path string
	done bool
}

// CloseAtomicallyReplace syncs the file and gives it its name.
func (t *temporary) CloseAtomicallyReplace() error {
	err := errors.Join(t.Sync(), t.File.Close())
	if err == nil {
		err = os.Rename(t.Name(), t.path)
	}
	t.done = err == nil
	return err
}

// Cleanup removes the file, unless it has its name.
func (t *temporary) Cleanup() error {
	if t.done {
		return nil
	}
	_ = t.File.Close() // it may be closed
	return os.Remove(t.Name())
}

// SyncFolder does nothing: Windows keeps names durable itself.
func SyncFolder(string) error { return nil }
