package tensor

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns the processor time of the calling thread, which must be
// locked: what a benchmark of one worker costs on a machine shared with others.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}
