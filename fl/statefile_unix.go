//go:build unix

package fl

import (
	"errors"
	"os"
)

// newStateFile creates the temporary file of a store. It has no name any more, so
// that it goes with the process, however that ends.
func newStateFile() (*os.File, error) {
	f, err := os.CreateTemp("", "fedfast-state-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// dropStateFile gives the file of a store back.
func dropStateFile(f *os.File) {
	_ = f.Close() // nothing in it is needed any more
}
