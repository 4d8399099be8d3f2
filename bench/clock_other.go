//go:build !linux

package bench

import "time"

// clock tells wall-clock time since it was made.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (clock) close() {}

func (c clock) now() time.Duration { return time.Since(c.start) }
