// Package slab keeps bytes outside of the heap that the garbage collector
// manages: a dataset stays as long as the program uses it, and in the heap it
// would make room for as much garbage as it has bytes itself.
package slab

import (
	"runtime"
	"sync"
)

// chunkSize is what the system is asked for at a time; pages that nobody writes
// to take no memory.
const chunkSize = 16 << 20

// Slab holds bytes. Its memory is given back when nobody has the Slab any more:
// who reads what Keep returned must hold it. The zero Slab is empty; New makes
// one that gives its memory back.
type Slab struct {
	mu     sync.Mutex
	free   []byte  // of the newest chunk
	chunks *chunks // apart, for the cleanup must not hold the Slab
}

// chunks are mapped memory.
type chunks struct{ list [][]byte }

// New returns an empty Slab.
func New() *Slab {
	s := &Slab{chunks: &chunks{}}
	runtime.AddCleanup(s, func(c *chunks) {
		for _, b := range c.list {
			unmapped(b)
		}
	}, s.chunks)
	return s
}

// Keep returns a copy of b in the Slab's memory. It may be called from several
// goroutines.
func (s *Slab) Keep(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) > len(s.free) {
		chunk := mapped(max(chunkSize, len(b)))
		s.chunks.list = append(s.chunks.list, chunk)
		if len(b) > chunkSize/4 && len(s.free) > chunkSize/4 { // the rest of the old one serves longer
			kept := chunk[:len(b):len(b)]
			copy(kept, b)
			return kept
		}
		s.free = chunk
	}
	kept := s.free[:len(b):len(b)]
	s.free = s.free[len(b):]
	copy(kept, b)
	return kept
}
