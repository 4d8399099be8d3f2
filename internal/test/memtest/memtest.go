// Package memtest is for tests of what readers of files take: it holds their memory and
// time to bounds that follow from the size of the file.
package memtest

import (
	"runtime/metrics"
	"testing"
	"time"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

const (
	// copies is how often the bytes that a file may become may be allocated, all in all:
	// packed, unpacked, as what is made of them, and while slices grow.
	copies = 6
	// longest is how long a reader may take. It is long, for machines are busy.
	longest = 30 * time.Second
)

// Bounded calls read, which reads a file of some bytes, and fails the test if it
// allocates or takes more than a file of this size may.
func Bounded(t testing.TB, size int, read func()) {
	t.Helper()
	before, begun := allocated(), time.Now()
	read()
	if took := time.Since(begun); took > longest {
		t.Errorf("a file of %s took %v", memory.Size(int64(size)), took)
	}
	if took, most := allocated()-before, copies*memory.Most(int64(size)); took > most {
		t.Errorf("a file of %s took %s of memory, must be at most %s", memory.Size(int64(size)), memory.Size(took),
			memory.Size(most))
	}
}

// allocated returns the bytes that the heap has given out so far.
func allocated() int64 {
	of := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(of)
	return int64(of[0].Value.Uint64())
}
