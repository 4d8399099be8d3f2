package kernels

import "github.com/fedfast/fedfast/kernels/det"

// Stream is a sequence of random numbers that a key and a stream number determine
// on every machine and every level: word i is word i%4 of Philox(counter {i/4,
// stream}, key). It is for decisions outside the kernels: shuffles, initial
// weights, sampling. A Stream is not safe for concurrent use; the zero value is the
// stream 0 of key 0.
type Stream struct {
	key    [2]uint32
	stream uint64
	block  uint64
	words  [4]uint32
	left   int     // unused words, at the end of words
	spare  float64 // the second normal number of a pair
	paired bool
}

// NewStream returns the start of stream number stream under key.
func NewStream(key uint64, stream uint64) *Stream {
	return &Stream{key: [2]uint32{uint32(key), uint32(key >> 32)}, stream: stream}
}

// Uint32 returns 32 random bits.
func (s *Stream) Uint32() uint32 {
	if s.left == 0 {
		s.words = Philox([4]uint32{uint32(s.block), uint32(s.block >> 32), uint32(s.stream), uint32(s.stream >> 32)}, s.key)
		s.block++
		s.left = 4
	}
	s.left--
	return s.words[3-s.left]
}

// Uint64 returns 64 random bits; the first word is the low half.
func (s *Stream) Uint64() uint64 {
	lo := s.Uint32()
	return uint64(s.Uint32())<<32 | uint64(lo)
}

// Float64 returns a multiple of 2^-53 in [0, 1).
func (s *Stream) Float64() float64 { return det.Unit(s.Uint64()) }

// Float32 returns a multiple of 2^-24 in [0, 1).
func (s *Stream) Float32() float32 { return float32(s.Uint32()>>8) * 0x1p-24 }

// IntN returns an integer in [0, n), each with the same probability. It panics if n
// <= 0.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("kernels: Stream.IntN with n <= 0")
	}
	for {
		if i, ok := det.Below(s.Uint64(), uint64(n)); ok {
			return int(i)
		}
	}
}

// NormFloat64 returns a number of the standard normal distribution (Marsaglia's
// polar method).
func (s *Stream) NormFloat64() float64 {
	if s.paired {
		s.paired = false
		return s.spare
	}
	for {
		u, v := s.Float64(), s.Float64()
		if x, y, ok := det.Polar(u, v); ok {
			s.spare, s.paired = y, true
			return x
		}
	}
}

// Shuffle puts x into a random order.
func (s *Stream) Shuffle(x []int32) {
	for i := len(x) - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		x[i], x[j] = x[j], x[i]
	}
}

// Perm returns the numbers 0 to n-1 in a random order.
func (s *Stream) Perm(n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	s.Shuffle(x)
	return x
}
