// Package nanos counts simulated time in nanoseconds, from 0 to math.MaxInt64, which is
// never: durations are rounded once, and sums saturate.
package nanos

import "math"

// Of returns a duration of seconds >= 0, rounded half to even; math.MaxInt64 if it does not
// fit.
func Of(seconds float64) int64 {
	ns := math.RoundToEven(float64(seconds * 1e9))
	if !(ns < math.MaxInt64) {
		return math.MaxInt64
	}
	return int64(ns)
}

// Add returns the sum of two times, math.MaxInt64 if it does not fit.
func Add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Seconds returns a time in seconds.
func Seconds(ns int64) float64 { return float64(ns) / 1e9 }
