//go:build unix && !solaris && !illumos && !aix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockExclusive locks an open file without waiting; free is false when another
// process holds it.
func lockExclusive(f *os.File) (free bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
