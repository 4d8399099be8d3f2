package kernels

// actTable holds the activations of one level. The slices of a call have equal,
// positive lengths.
type actTable struct {
	exp, sigmoid, tanh func(dst, src []float32)
	reluBackward       func(dx, dy, y []float32)
}

var acts actTable

// Exp stores e^src[i] in dst[i], within 1.5 ulp; results below 2^-126 are rounded
// twice (2 ulp of a subnormal number). Above 88.73 it returns +Inf, below -104 it
// returns 0, and NaN stays NaN. dst must be as long as src and may be src itself.
func Exp(dst, src []float32) { mapUnary(acts.exp, dst, src) }

// Sigmoid stores 1/(1+e^-src[i]) in dst[i], within 2.5 ulp for src[i] >= -87. Below
// -88.25 it stays at 4.7e-39; NaN stays NaN. dst must be as long as src and may be
// src itself.
func Sigmoid(dst, src []float32) { mapUnary(acts.sigmoid, dst, src) }

// Tanh stores the hyperbolic tangent of src[i] in dst[i], within 2.6 ulp
// everywhere, also next to 0 where tanh x is x; it is odd to the bit and never
// exceeds 1. NaN stays NaN. dst must be as long as src and may be src itself.
func Tanh(dst, src []float32) { mapUnary(acts.tanh, dst, src) }

// ReLUBackward stores dy[i] in dx[i] where y[i] > 0 and 0 elsewhere (also where
// y[i] is NaN); y is the output of the rectifier. The lengths must be equal; dx may
// be dy or y itself.
func ReLUBackward(dx, dy, y []float32) { mapBinary(acts.reluBackward, dx, dy, y) }
