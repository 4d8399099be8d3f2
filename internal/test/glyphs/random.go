package glyphs

import (
	"math/rand/v2"

	"github.com/fedfast/fedfast/kernels/det"
)

// The purposes that keep the streams of one writer apart.
const (
	purposeStyle uint64 = iota + 1
	purposeMix
	purposeHabit
	purposeSample
)

// stream is a random stream that a key restarts. Its normal deviates and its
// exponential use no function whose last bit differs between CPUs.
type stream struct {
	pcg rand.PCG
}

// restart puts s at the start of the stream of (seed, writer, purpose, index).
func (s *stream) restart(seed uint64, writer int, purpose uint64, index int) {
	h := det.Mix(seed)
	h = det.Mix(h ^ uint64(writer))
	h = det.Mix(h ^ purpose)
	h = det.Mix(h ^ uint64(index))
	s.pcg.Seed(h, det.Mix(h))
}

// unit returns a number in [0, 1).
func (s *stream) unit() float64 { return det.Unit(s.pcg.Uint64()) }

// span returns a number between lo and hi.
func (s *stream) span(lo, hi float64) float64 { return lo + float64((hi-lo)*s.unit()) }

// normal returns a nearly normal deviate of mean 0 and variance 1 with tails cut
// at 6: the centred sum of twelve uniform numbers.
func (s *stream) normal() float64 {
	var sum float64
	for range 12 {
		sum += s.unit()
	}
	return sum - 6
}

// exp returns e^x for |x| < 100 with a relative error below x*x/2^20:
// (1+x/2^20)^(2^20). It is part of what defines the glyphs, whose pixels the
// more exact det.Exp would change.
func exp(x float64) float64 {
	y := 1 + x/(1<<20)
	for range 20 {
		y = float64(y * y)
	}
	return y
}
