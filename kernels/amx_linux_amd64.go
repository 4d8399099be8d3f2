//go:build !purego

package kernels

import (
	"sync"
	"syscall"

	"github.com/klauspost/cpuid/v2"
)

// hasAMX says whether the processor multiplies tiles of bf16 and Linux lets this process use them.
var hasAMX = sync.OnceValue(func() bool {
	if !cpuid.CPU.Supports(cpuid.AMXBF16, cpuid.AMXTILE) {
		return false
	}
	const requestPermission, tileData = 0x1023, 18
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
})
