//go:build unix

package kernels_test

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// TestReadProbe lets the probe read up to a page that must not be read, and beyond:
// it reads all of its memory, but for a part of 512 bytes, and nothing else.
func TestReadProbe(t *testing.T) {
	page := syscall.Getpagesize()
	const size = 1 << 20
	memory, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	}()
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	x := unsafe.Slice((*float32)(unsafe.Pointer(&memory[page])), size/4)
	beyond := unsafe.Slice((*float32)(unsafe.Pointer(&memory[page])), size/4+1)
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 127, 128, 129, 255, 256, size/4 - 1, size / 4} {
			if faults(x[:n]) || faults(x[len(x)-n:]) {
				t.Errorf("%d floats: it reads what is not its own", n)
			}
		}
		for _, n := range []int{128, 256, size / 4} { // whole 512 bytes
			if !faults(beyond[len(beyond)-n:]) {
				t.Errorf("%d floats: it does not read the last one", n)
			}
		}
	})
}

// faults reports whether reading x touches a page that must not be read.
func faults(x []float32) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { faulted = recover() != nil }()
	kernels.ReadProbe(x)
	return false
}
