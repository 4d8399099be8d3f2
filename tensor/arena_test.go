package tensor

import (
	"testing"
	"unsafe"
)

func address(s []float32) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }

// TestArena checks alignment, zeroing, that nothing overlaps, and that released
// memory is used again without allocating.
func TestArena(t *testing.T) {
	var a Arena
	fill := func() {
		for _, n := range []int{1, 16, 17, 1000, blockSize - 1, 3, 2*blockSize + 5, 40} {
			s := a.Alloc(n)
			if len(s) != n || cap(s) != n {
				t.Errorf("Alloc(%d) has length %d and capacity %d", n, len(s), cap(s))
			}
			if address(s)%64 != 0 {
				t.Errorf("Alloc(%d) is not aligned to 64 bytes", n)
			}
			for i := range s {
				if s[i] != 0 {
					t.Fatalf("Alloc(%d): value %d is %v; it must be zero and belong to nobody else", n, i, s[i])
				}
				s[i] = 1
			}
		}
	}
	start := a.Mark()
	fill()
	size := a.Size()
	if n := testing.AllocsPerRun(3, func() { a.Release(start); fill() }); n != 0 {
		t.Errorf("filling the arena again allocates %v times", n)
	}
	if a.Size() != size {
		t.Errorf("the arena grew from %d to %d floats", size, a.Size())
	}
	kept := a.Alloc(16)
	mark := a.Mark()
	first := address(a.Alloc(64))
	kept[3] = 7
	a.Release(mark)
	if second := address(a.Alloc(64)); second != first {
		t.Error("memory after a release is not the memory before")
	}
	if kept[3] != 7 {
		t.Error("a release touched memory from before its mark")
	}
}

// TestAligned checks the alignment of single vectors.
func TestAligned(t *testing.T) {
	for n := range 70 {
		if s := Aligned(n); len(s) != n || n > 0 && address(s)%64 != 0 {
			t.Errorf("Aligned(%d) has length %d at offset %d", n, len(s), address(s)%64)
		}
	}
}
