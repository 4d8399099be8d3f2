//go:build !unix

package slab

// mapped returns n bytes of the heap.
func mapped(n int) []byte { return make([]byte, n) }

// unmapped leaves memory to the garbage collector.
func unmapped([]byte) {}
