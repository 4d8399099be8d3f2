package kernels

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Level names one implementation of all kernels. Levels of one architecture are
// ordered: a higher one needs more of the processor.
type Level uint8

// The levels. AVX2 stands for AVX2 with FMA3 and POPCNT; AVX512 for the conjunction
// of AVX-512 F, DQ, BW and VL; AMX for these with AVX512_BF16 and AMX's products of
// bf16, on Linux; NEON for arm64's Advanced SIMD.
const (
	Generic Level = iota
	AVX2
	AVX512
	AMX
	NEON
	numLevels = iota
)

var levelNames = [numLevels]string{"generic", "avx2", "avx512", "amx", "neon"}

// String returns the name that FEDFAST_CPU and --cpu use: generic, avx2, avx512,
// amx or neon.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// ParseLevel returns the level called name. It does not ask whether this processor
// can run it; see [Supported].
func ParseLevel(name string) (Level, error) {
	if i := slices.Index(levelNames[:], name); i >= 0 {
		return Level(i), nil
	}
	return Generic, fmt.Errorf("unknown CPU level %q: must be one of %s", name, strings.Join(levelNames[:], ", "))
}

// current is the level that bind chose last.
var current Level

func init() { bind(startLevel(os.Getenv("FEDFAST_CPU"))) }

// startLevel returns the highest supported level, or the one that override names if
// it is supported.
func startLevel(override string) Level {
	levels := Supported()
	if l, err := ParseLevel(override); err == nil && slices.Contains(levels, l) {
		return l
	}
	return levels[len(levels)-1]
}

// Current returns the level in use.
func Current() Level { return current }

// Supported returns the levels that this build and this processor can run, lowest
// first; the first is always [Generic].
func Supported() []Level { return append([]Level{Generic}, detect()...) }

// SetLevel makes the whole process use level l. It must be called before any kernel
// runs (or between kernels, in tests): it is not safe for concurrent use. It
// returns an error if this build or this processor does not support l.
func SetLevel(l Level) error {
	levels := Supported()
	if !slices.Contains(levels, l) {
		return fmt.Errorf("CPU level %v is not supported here: must be one of %v", l, levels)
	}
	bind(l)
	return nil
}

// bind points every group of kernels at its implementation for level l.
//
// A group is one family of files around one table of function values. For a group
// x:
//
//	x.go           type xTable struct { ... func values ... }; var xs xTable; the exported wrappers, which call xs.name(...)
//	x_generic.go   var xGeneric = xTable{...}, the plain Go reference
//	level_amd64.go bindAVX2 and bindAVX512 put what is of the level into xs
//	level_arm64.go assemble does so for NEON
//
// To plug a group in, add one line below, and what has assembly to those files.
func bind(l Level) {
	current = l
	gemms = gemmGeneric
	bf16s = bf16Generic
	acts = actGeneric
	vectors = vectorGeneric
	reduces = reduceGeneric
	optims = optimGeneric
	softmaxes = softmaxGeneric
	columns = columnsGeneric
	lstms = lstmGeneric
	pools = poolGeneric
	dropouts = dropoutGeneric
	lrns = lrnGeneric
	sparses = sparseGeneric
	winograds = winogradGeneric
	norms = normGeneric
	curves = curveTable{}
	rowNorms = rowNormTable{}
	depthwises = depthwiseGeneric
	assemble(l)
}

// Processor returns the processor's name, or where it has none, as with Linux on arm64, its architecture.
func Processor() string { return cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH+" processor") }

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
