package slab

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestKeep(t *testing.T) {
	s := New()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			var kept, want [][]byte
			for i := range 300 {
				b := bytes.Repeat([]byte{byte(g), byte(i)}, 1+(i*977)%9000)
				if i == 100 {
					b = bytes.Repeat(b, 1+chunkSize/len(b)) // larger than a chunk
				}
				k := s.Keep(b)
				if cap(k) != len(k) {
					t.Errorf("kept %d bytes with room for %d", len(k), cap(k))
				}
				kept, want = append(kept, k), append(want, b)
			}
			for i := range kept {
				if !bytes.Equal(kept[i], want[i]) {
					t.Errorf("piece %d has changed", i)
				}
			}
		})
	}
	wg.Wait()
	if s.Keep(nil) != nil {
		t.Error("nothing is kept as something")
	}
	runtime.KeepAlive(s)
}

// A Slab that nobody has gives its memory back; one that somebody has keeps it.
func TestRelease(t *testing.T) {
	held := New()
	kept := held.Keep([]byte("stays"))
	var most int
	for range 20 {
		s := New()
		s.Keep(bytes.Repeat([]byte{1}, chunkSize))
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run beside
		most = max(most, resident(t))
	}
	if string(kept) != "stays" {
		t.Errorf("held memory is %q", kept)
	}
	if most > 250<<20 { // all of them have 320 MB
		t.Errorf("%d bytes are in memory", most)
	}
	runtime.KeepAlive(held)
}

// resident returns the bytes that the process has in memory; 0 where the system
// does not tell.
func resident(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
