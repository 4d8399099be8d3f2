// Package filelock locks files for one process. A lock ends with its process,
// however that ends, or when the file is closed.
package filelock

import "os"

// Try locks an open file without waiting; free is false when another process holds
// it. The error is errors.ErrUnsupported on a system without such locks.
func Try(f *os.File) (free bool, err error) { return lock(f, false) }

// Share is Try for any number of processes at a time, which only look whether Try holds the file.
func Share(f *os.File) (free bool, err error) { return lock(f, true) }
