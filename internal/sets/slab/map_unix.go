//go:build unix

package slab

import "golang.org/x/sys/unix"

// mapped returns n bytes from the system, or from the heap if it has none to give.
func mapped(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]byte, n)
	}
	return b
}

// unmapped gives memory back. Munmap knows what Mmap gave and refuses the rest.
func unmapped(b []byte) { _ = unix.Munmap(b) }
