package kernels

// PeakProbe runs n rounds of independent fused multiply-adds that touch no memory,
// at the level in use, and returns how many floating-point operations that was (two
// for a multiply-add). Timing it measures the processor's peak; a round takes about
// 10 to 25 ns on assembly levels, and n is split into calls of at most about 100
// us.
func PeakProbe(n int) int64 {
	for left := n; left > 0; left -= peakCall {
		runPeak(gemms.peak, min(left, peakCall))
	}
	return int64(max(n, 0)) * int64(gemms.peakFLOPs)
}

// peakCall is the most rounds of one call of assembly.
const peakCall = 4096

// runPeak is a Go function of its own so that the runtime can interrupt a loop of
// calls.
//
//go:noinline
func runPeak(f func(n int), n int) { f(n) }

// ReadProbe reads x, at the level in use, and does nothing else with it: timing it
// measures the bandwidth of the memory that holds x. It leaves out what follows the
// last whole 512 bytes, and splits the rest into calls of at most about 100 us.
func ReadProbe(x []float32) {
	const lines = 8 // of a round
	raceRead(x)
	for left := len(x) / (lines * Width); left > 0; left -= readCall {
		n := min(left, readCall)
		runRead(gemms.read, &x[0], n*lines/2)
		x = x[n*lines*Width:]
	}
}

// readCall is the most rounds of one call of assembly: 1 MiB.
const readCall = 2048

// runRead is a Go function of its own so that the runtime can interrupt a loop of
// calls.
//
//go:noinline
func runRead(f func(x *float32, lines int), x *float32, lines int) { f(x, lines) }
