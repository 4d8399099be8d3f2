package kernels

// PeakProbe runs n rounds of independent fused multiply-adds that touch no memory, at the level in use, and returns how many
// floating-point operations that was (two for a multiply-add). Timing it measures the processor's peak; a round takes about 10 to
// 25 ns on assembly levels, and n is split into calls of at most about 100 us.
func PeakProbe(n int) int64 {
	for left := n; left > 0; left -= peakCall {
		runPeak(gemms.peak, min(left, peakCall))
	}
	return int64(max(n, 0)) * int64(gemms.peakFLOPs)
}

// peakCall is the most rounds of one call of assembly.
const peakCall = 4096

// runPeak is a Go function of its own so that the runtime can interrupt a loop of calls.
//
//go:noinline
func runPeak(f func(n int), n int) { f(n) }
