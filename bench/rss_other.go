//go:build !linux

package bench

// resetPeakRSS does nothing here.
func resetPeakRSS() {}

// peakRSS returns 0: this system is not asked.
func peakRSS() int64 { return 0 }

// processRSS knows nothing here.
func processRSS(int) int64 { return 0 }
