package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks one byte far behind what such a file holds.
func lock(f *os.File) (free bool, err error) {
	at := &windows.Overlapped{Offset: 1 << 20}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
