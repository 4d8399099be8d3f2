//go:build !linux

package tensor

import "time"

var started = time.Now()

// threadTime returns the time since the program's start, where the time of a
// thread is not to be had.
func threadTime() time.Duration { return time.Since(started) }
