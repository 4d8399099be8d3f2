package tensor

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a large page where there is one size of them.
const hugePage = 2 << 20

// preferHuge asks for large pages where x lies, if it is at least a block of an arena: its
// neighbours in the heap are most often other blocks. Passes over large weights are then
// twice as fast, and networks of many thin layers 8 to 11 % faster: with pages of 4 KiB the
// processor's tables of pages reach 12 MiB, and it fetches ahead within a page only. It is a
// wish; a system that does not grant it changes nothing.
func preferHuge(x []float32) {
	if len(x) < blockSize {
		return
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	first := start &^ (hugePage - 1)
	size := (start + 4*uintptr(len(x)) - first + hugePage - 1) &^ (hugePage - 1)
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, first, size, syscall.MADV_HUGEPAGE)
}
