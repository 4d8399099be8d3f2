package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockExclusive locks a byte far behind the process number without waiting; free
// is false when another process holds it.
func lockExclusive(f *os.File) (free bool, err error) {
	at := &windows.Overlapped{Offset: 1 << 20}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
