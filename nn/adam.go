package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// Adam are the settings of Adam (Kingma and Ba 2015) as PyTorch defines it, with
// bias correction; the learning rate, the weight decay and the rest are as in
// SGD beside it, whose momentum it does not use.
type Adam struct {
	// On takes steps of Adam instead of SGD's.
	On bool
	// Decoupled makes it AdamW (Loshchilov and Hutter 2019): weight decay shrinks
	// the weights by itself, and is no part of the gradient.
	Decoupled bool
	// Beta1 and Beta2 are the decay rates of the moments, in [0, 1); Eps, above 0,
	// is added to the root of the second one.
	Beta1, Beta2, Eps float64
}

// step returns the step number n, from 1, without its slices and its proximal term.
func (a Adam) step(s SGD, n int) kernels.Adam {
	k := kernels.Adam{
		Decay: s.WeightDecay, Keep: 1, First: n == 1, Eps: float32(a.Eps),
		Beta1: float32(a.Beta1), Rest1: float32(1 - a.Beta1), Beta2: float32(a.Beta2), Rest2: float32(1 - a.Beta2),
		Rate:  float32(float64(s.LR) / (1 - power(a.Beta1, n))),
		Scale: float32(1 / math.Sqrt(1-power(a.Beta2, n))),
	}
	if a.Decoupled {
		k.Decay, k.Keep = 0, float32(1-float64(float64(s.LR)*float64(s.WeightDecay)))
	}
	return k
}

// power returns x^n for n >= 0 by products alone, the same bits on every machine.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y *= x
		}
		x *= x
	}
	return y
}
