package fl

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"

	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/tensor"
)

// store holds the states of an engine's clients in blocks of one size: in memory
// up to a limit, the others in a temporary file. Where a block lies never shows
// in a result.
type store struct {
	size  int // floats of a block
	limit int // blocks in memory

	mu       sync.Mutex
	inMemory int
	free     []*block // of which nobody else knows
	file     *os.File
	slots    []int64 // places in the file that are free
	next     int64   // the first place that never was taken
}

// block is the state of one client after one local training. Its values do not
// change while anybody but the trial that wrote it may read it.
type block struct {
	values []float32 // nil when it lies in the file
	slot   int64
	shared bool // a snapshot holds it too
}

func newStore(size int, memory int64) *store {
	memory = cmp.Or(memory, limit.StateMemory)
	return &store{size: size, limit: int(memory / int64(4*max(1, size)))}
}

// write returns a block with the given values.
func (s *store) write(values []float32) (*block, error) {
	b, err := s.take()
	if err != nil {
		return nil, err
	}
	if b.values != nil {
		copy(b.values, values)
		return b, nil
	}
	if _, err := s.file.WriteAt(tensor.LittleEndian(values), b.slot*int64(4*s.size)); err != nil {
		return nil, fmt.Errorf("the clients' states beyond data.state_memory: %w", err)
	}
	return b, nil
}

// take returns a free or a new block.
func (s *store) take() (*block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		return b, nil
	}
	b := &block{}
	if s.inMemory < s.limit {
		s.inMemory++
		b.values = make([]float32, s.size)
		runtime.AddCleanup(b, func(s *store) {
			s.mu.Lock()
			s.inMemory--
			s.mu.Unlock()
		}, s)
		return b, nil
	}
	if s.file == nil {
		f, err := newStateFile()
		if err != nil {
			return nil, fmt.Errorf("the clients' states beyond data.state_memory: %w", err)
		}
		s.file = f
	}
	if n := len(s.slots); n > 0 {
		b.slot, s.slots = s.slots[n-1], s.slots[:n-1]
	} else {
		b.slot, s.next = s.next, s.next+1
	}
	runtime.AddCleanup(b, func(slot int64) {
		s.mu.Lock()
		s.slots = append(s.slots, slot)
		s.mu.Unlock()
	}, b.slot)
	return b, nil
}

// read copies a block's values to dst.
func (s *store) read(dst []float32, b *block) error {
	if b.values != nil {
		copy(dst, b.values)
		return nil
	}
	raw := make([]byte, 4*len(dst))
	if _, err := s.file.ReadAt(raw, b.slot*int64(4*s.size)); err != nil {
		return fmt.Errorf("the clients' states beyond data.state_memory: %w", err)
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	runtime.KeepAlive(b) // its place in the file must not be given away before
	return nil
}

// recycle gives a block back, unless a snapshot holds it.
func (s *store) recycle(b *block) {
	if b == nil || b.shared {
		return
	}
	s.mu.Lock()
	s.free = append(s.free, b)
	s.mu.Unlock()
}

// close gives the file back.
func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		dropStateFile(s.file)
	}
}
