package fetch

import (
	"errors"
	"fmt"
	"os"

	"github.com/fedfast/fedfast/internal/sys/filelock"
)

// lock keeps other processes from fetching into the same folder until unlock is
// called or the process ends. Systems that know no locks on folders have none.
func lock(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if free, err := filelock.Try(f); err == nil && !free {
		return nil, errors.Join(fmt.Errorf("%s: another process is fetching into this folder", dir), f.Close())
	}
	return func() { _ = f.Close() }, nil // only read
}
