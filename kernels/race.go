//go:build race

package kernels

import (
	"runtime"
	"unsafe"
)

// raceRead tells the race detector, which does not see into assembly, that x is
// read.
func raceRead[T any](x []T) {
	if len(x) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&x[0]), len(x)*int(unsafe.Sizeof(x[0])))
	}
}

// raceWrite tells the race detector that x is written.
func raceWrite[T any](x []T) {
	if len(x) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&x[0]), len(x)*int(unsafe.Sizeof(x[0])))
	}
}

const raceEnabled = true
