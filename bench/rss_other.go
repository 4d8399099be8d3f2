//go:build !linux

package bench

// resetPeakRSS does nothing here.
func resetPeakRSS() {}
