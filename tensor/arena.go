package tensor

import "unsafe"

const (
	alignment = 64 // bytes; a cache line and the widest vector
	line      = alignment / 4
	blockSize = 1 << 18 // floats of the smallest block an arena asks for
)

// Aligned returns n zeroed floats that start at a multiple of 64 bytes.
func Aligned(n int) []float32 {
	buf := make([]float32, n+line-1)
	preferHuge(buf)
	skip := 0
	if at := uintptr(unsafe.Pointer(unsafe.SliceData(buf))) % alignment; at != 0 {
		skip = int(alignment-at) / 4
	}
	return buf[skip : skip+n : skip+n]
}

// Arena hands out 64-byte-aligned float32 memory from large blocks. The zero
// value is ready to use. An arena belongs to one goroutine at a time.
type Arena struct {
	blocks [][]float32
	at     Mark
}

// Mark is a position in an arena to release to.
type Mark struct{ block, used int }

// Alloc returns n zeroed floats, aligned to 64 bytes, that stay valid until a
// Release to a mark taken before.
func (a *Arena) Alloc(n int) []float32 {
	size := (n + line - 1) / line * line
	for a.at.block < len(a.blocks) && a.at.used+size > len(a.blocks[a.at.block]) {
		a.at = Mark{block: a.at.block + 1}
	}
	if a.at.block == len(a.blocks) {
		a.blocks = append(a.blocks, Aligned(max(size, blockSize)))
	}
	s := a.blocks[a.at.block][a.at.used : a.at.used+n : a.at.used+n]
	a.at.used += size
	clear(s)
	return s
}

// Mark returns the present position.
func (a *Arena) Mark() Mark { return a.at }

// Release gives back everything that was allocated since the mark was taken;
// the memory is kept for later allocations.
func (a *Arena) Release(m Mark) { a.at = m }

// Size returns the floats of memory that the arena holds.
func (a *Arena) Size() int {
	n := 0
	for _, b := range a.blocks {
		n += len(b)
	}
	return n
}
