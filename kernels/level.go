package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"
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

func init() {
	bind(startLevel(os.Getenv("FEDFAST_CPU")))
}

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
