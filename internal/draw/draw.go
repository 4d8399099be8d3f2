// Package draw holds the random streams of packages data and fleet. Every draw depends on
// its key alone and is the same on every CPU: the bits come from PCG, the
// functions that real numbers need from kernels/det.
package draw

import (
	"math"
	"math/rand/v2"

	"github.com/fedfast/fedfast/kernels/det"
)

// Purposes keep the streams of one seed apart.
const (
	Order     uint64 = iota + 1 // a client's samples before the cut
	Partition                   // dealing a set without clients
	Jitter                      // augmentation
	Synthetic                   // the set Synthetic(alpha, beta)
	Proxy                       // samples set apart for proxy federations
	Fleet                       // devices, their availability and their jobs
	HoldOut                     // clients that never train
)

// Key mixes parts to one 64-bit key; their order matters.
func Key(parts ...uint64) uint64 {
	h := uint64(0x6a09e667f3bcc909)
	for _, p := range parts {
		h = det.Mix(h ^ p)
	}
	return h
}

// Text returns a key of s: 64-bit FNV-1a, mixed.
func Text(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return det.Mix(h)
}

// Stream is a sequence of draws. The zero Stream must be restarted before use.
type Stream struct {
	pcg rand.PCG
}

// New returns the stream of a key.
func New(parts ...uint64) *Stream {
	s := new(Stream)
	s.Restart(Key(parts...))
	return s
}

// Restart puts s at the start of the stream of key. It allocates nothing.
func (s *Stream) Restart(key uint64) { s.pcg.Seed(key, det.Mix(key)) }

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// IntN returns an unbiased integer in [0, n); n must be positive.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("draw: IntN of a number below 1")
	}
	for {
		if i, ok := det.Below(s.Uint64(), uint64(n)); ok {
			return int(i)
		}
	}
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (s *Stream) Float64() float64 { return det.Unit(s.Uint64()) }

// Span returns a number in [lo, hi).
func (s *Stream) Span(lo, hi float64) float64 { return lo + float64((hi-lo)*s.Float64()) }

// Shuffle puts x into random order. (Fisher and Yates)
func (s *Stream) Shuffle(x []int32) {
	for i := len(x) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// Normal returns a standard normal deviate, the first of a pair.
func (s *Stream) Normal() float64 {
	for {
		u, v := s.Float64(), s.Float64()
		if x, _, ok := det.Polar(u, v); ok {
			return x
		}
	}
}

// LogGamma returns the logarithm of a gamma deviate of the given shape and
// scale 1. The logarithm stays finite where the deviate itself would be too
// small for a float64. (Marsaglia and Tsang 2000)
func (s *Stream) LogGamma(shape float64) float64 {
	if shape < 1 {
		boost := det.Log(1 - s.Float64())
		return s.LogGamma(shape+1) + boost/shape
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(float64(v*v) * v)
		u := 1 - s.Float64()
		logV := det.Log(v)
		if det.Log(u) < float64(x*x)/2+float64(d*(1-v+logV)) {
			return det.Log(d) + logV
		}
	}
}

// Dirichlet fills mix with a draw of the Dirichlet distribution whose
// parameters are alpha (positive); entries of 0 in alpha give 0. mix sums to 1.
func (s *Stream) Dirichlet(mix, alpha []float64) {
	top := math.Inf(-1)
	for i, a := range alpha {
		mix[i] = math.Inf(-1)
		if a > 0 {
			mix[i] = s.LogGamma(a)
			top = max(top, mix[i])
		}
	}
	var sum float64
	for i, m := range mix {
		mix[i] = det.Exp(m - top)
		sum += mix[i]
	}
	for i := range mix {
		mix[i] /= sum
	}
}
