//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fetch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other processes from fetching into the same folder until unlock is
// called or the process ends. File systems that know no locks have none.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%s: another process is fetching into this folder", dir), f.Close())
	}
	return func() { _ = f.Close() }, nil // only read
}
