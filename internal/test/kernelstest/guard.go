package kernelstest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// guardWords is how many words a guarded slice has on either side: more than any
// vector or cache line.
const guardWords = 64

const guardBits = 0x7fbadbad // a NaN, so that a kernel that reads it shows it too

// Slice is a float32 slice between guard words. Data starts Offset floats past a
// multiple of 64 bytes or so, to test unaligned access.
type Slice struct {
	Data []float32
	all  []float32
}

// NewSlice returns n zeros between guard words, offset floats (0 to 15) into the
// allocation.
func NewSlice(n, offset int) *Slice {
	all := make([]float32, n+2*guardWords+offset)
	for i := range all {
		all[i] = math.Float32frombits(guardBits)
	}
	data := all[guardWords+offset:][:n:n]
	clear(data)
	return &Slice{Data: data, all: all}
}

// Random returns n standard normal numbers between guard words.
func Random(r *rand.Rand, n, offset int) *Slice {
	s := NewSlice(n, offset)
	for i := range s.Data {
		s.Data[i] = float32(r.NormFloat64())
	}
	return s
}

// Check fails the test if a guard word was written.
func (s *Slice) Check(t testing.TB, name string) {
	t.Helper()
	before := len(s.all) - guardWords - len(s.Data)
	for i, v := range s.all {
		inside := i >= before && i < before+len(s.Data)
		if !inside && math.Float32bits(v) != guardBits {
			t.Fatalf("%s: float %d of %d was written outside the slice", name, i-before, len(s.Data))
		}
	}
}
