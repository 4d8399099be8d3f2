// Package draw holds the random streams of package data. Every draw depends on
// its key alone and is the same on every CPU: integers come from PCG, and the
// functions that real numbers need (logarithm, exponential) are computed here
// with explicitly rounded products, because those of package math differ in
// the last bit between CPUs and Go may fuse a product with a sum.
package draw

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Purposes keep the streams of one seed apart.
const (
	Order     uint64 = iota + 1 // a client's samples before the cut
	Partition                   // dealing a set without clients
	Jitter                      // augmentation
	Synthetic                   // the set Synthetic(alpha, beta)
	Proxy                       // samples set apart for side federations
)

// Key mixes parts to one 64-bit key; their order matters.
func Key(parts ...uint64) uint64 {
	h := uint64(0x6a09e667f3bcc909)
	for _, p := range parts {
		h = scramble(h ^ p)
	}
	return h
}

// Text returns a key of s: 64-bit FNV-1a, scrambled.
func Text(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return scramble(h)
}

// scramble is SplitMix64's output function after one step (Steele, Lea, Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
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
func (s *Stream) Restart(key uint64) { s.pcg.Seed(key, scramble(key)) }

// Uint64 returns 64 random bits.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// IntN returns an unbiased integer in [0, n); n must be positive. (Lemire 2019)
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("draw: IntN of a number below 1")
	}
	m := uint64(n)
	hi, lo := bits.Mul64(s.Uint64(), m)
	if lo < m {
		for floor := -m % m; lo < floor; {
			hi, lo = bits.Mul64(s.Uint64(), m)
		}
	}
	return int(hi)
}

// Float64 returns a number in [0, 1), a multiple of 2^-53.
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Span returns a number in [lo, hi).
func (s *Stream) Span(lo, hi float64) float64 { return lo + float64((hi-lo)*s.Float64()) }

// Shuffle puts x into random order. (Fisher and Yates)
func (s *Stream) Shuffle(x []int32) {
	for i := len(x) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// Normal returns a standard normal deviate. (Marsaglia's polar method)
func (s *Stream) Normal() float64 {
	for {
		u, v := float64(2*s.Float64())-1, float64(2*s.Float64())-1
		q := float64(u*u) + float64(v*v)
		if q > 0 && q < 1 {
			return float64(u * math.Sqrt(-2*Log(q)/q))
		}
	}
}

// LogGamma returns the logarithm of a gamma deviate of the given shape and
// scale 1. The logarithm stays finite where the deviate itself would be too
// small for a float64. (Marsaglia and Tsang 2000)
func (s *Stream) LogGamma(shape float64) float64 {
	if shape < 1 {
		boost := Log(1 - s.Float64())
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
		logV := Log(v)
		if Log(u) < float64(x*x)/2+float64(d*(1-v+logV)) {
			return Log(d) + logV
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
		mix[i] = Exp(m - top)
		sum += mix[i]
	}
	for i := range mix {
		mix[i] /= sum
	}
}
