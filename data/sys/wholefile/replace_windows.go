package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// replace does what renameio, which is not for Windows, does: there, too, a rename
// takes the place of a file, unless another process has it open.
func replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // without effect once renamed
	if err := errors.Join(write(f), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// SyncFolder does nothing: Windows keeps names durable itself.
func SyncFolder(string) error { return nil }
