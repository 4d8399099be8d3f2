//go:build !cgo

package memory

// spare is how much of an address space that has a limit is left to the runtime,
// which reserves it in large pieces, and least what must be left beside it.
const (
	spare = 192 << 20
	least = 64 << 20
)
