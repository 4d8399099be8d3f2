//go:build !unix

package fl

import (
	"os"
	"path/filepath"
)

// statePattern is the name of a store's temporary file.
const statePattern = "fedfast-state-*"

// newStateFile creates the temporary file of a store, and removes those of
// processes that were killed: the system refuses to remove one that is open.
func newStateFile() (*os.File, error) {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), statePattern))
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		_ = os.Remove(path) // it is in use, or goes
	}
	return os.CreateTemp("", statePattern)
}

// dropStateFile removes the file of a store.
func dropStateFile(f *os.File) {
	_ = f.Close() // nothing in it is needed any more
	_ = os.Remove(f.Name())
}
