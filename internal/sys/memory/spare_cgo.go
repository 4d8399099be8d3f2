//go:build cgo

package memory

// spare is how much of an address space that has a limit is left to the runtime,
// which reserves it in large pieces, and to the C library, which takes 72 MiB or
// more for each thread; least is what must be left beside it.
const (
	spare = 512 << 20
	least = 64 << 20
)
