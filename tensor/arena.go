package tensor

import (
	"encoding/binary"
	"errors"
	"math"
	"unsafe"
)

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

// LittleEndian returns the bytes of x as little-endian float32: its own memory, to be read alone,
// on processors of that order.
func LittleEndian(x []float32) []byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
	}
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// MostCounted is the floats up to which an arena counts; beyond, and for one piece
// of more than an eighth of them, it panics with ErrUncounted.
const MostCounted = 1 << 27

// mostPiece is the floats of the largest piece that is counted.
const mostPiece = 1 << 24

// ErrUncounted is the panic of a counting arena that is asked for more than it
// counts.
var ErrUncounted = errors.New("tensor: more memory than is counted")

// Arena hands out 64-byte-aligned float32 memory from large blocks. The zero
// value is ready to use. An arena belongs to one goroutine at a time.
type Arena struct {
	blocks [][]float32
	at     Mark
	count  bool
	asked  int // of whole blocks, when counting
	room   int // in the newest block, when counting
}

// Counting returns an arena that counts what it is asked for. All that it hands out
// is the same memory, which nobody may use.
func Counting() *Arena { return &Arena{count: true} }

// Asked returns the floats of the blocks that would hold what a counting arena was
// asked for.
func (a *Arena) Asked() int { return a.asked }

// Mark is a position in an arena to release to.
type Mark struct{ block, used int }

// Alloc returns n zeroed floats, aligned to 64 bytes, that stay valid until a
// Release to a mark taken before.
func (a *Arena) Alloc(n int) []float32 {
	size := (n + line - 1) / line * line
	if a.count {
		if size > a.room {
			a.room = max(size, blockSize)
			a.asked += a.room
		}
		a.room -= size
		if a.asked > MostCounted || n > mostPiece {
			panic(ErrUncounted)
		}
		if len(a.blocks) == 0 || len(a.blocks[0]) < n {
			a.blocks = [][]float32{Aligned(n)}
		}
		return a.blocks[0][:n:n]
	}
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
