//go:build !windows

package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

func replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(mode))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }() // without effect once renamed
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// SyncFolder makes the names in a folder durable, where the file system can.
func SyncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
