package bench

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// clock tells the CPU time of one thread, which the goroutine that made it is
// locked to.
type clock struct{}

func newClock() clock {
	runtime.LockOSThread()
	return clock{}
}

func (clock) close() { runtime.UnlockOSThread() }

func (clock) now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("bench: thread CPU time is not available: " + err.Error()) // every Linux that Go supports has it
	}
	return time.Duration(ts.Nano())
}
