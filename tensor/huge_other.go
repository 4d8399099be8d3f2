//go:build !linux

package tensor

// preferHuge does nothing where the system decides on the size of pages alone.
func preferHuge([]float32) {}
