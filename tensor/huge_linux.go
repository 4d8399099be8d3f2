package tensor

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a large page where there is one size of them.
const hugePage = 2 << 20

// preferHuge asks for large pages for the whole ones of them in x. Passes over
// large weights are then twice as fast: with pages of 4 KiB the processor's tables
// of pages reach 12 MiB, and it fetches ahead within a page only. It is a wish; a
// system that does not grant it changes nothing.
func preferHuge(x []float32) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	skip := -start % hugePage
	size := 4*uintptr(len(x)) - skip
	if uintptr(4*len(x)) < skip+hugePage {
		return
	}
	_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(x)), skip)), size&^(hugePage-1)), syscall.MADV_HUGEPAGE)
}
