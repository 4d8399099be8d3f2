package fl

import (
	"math/bits"

	"github.com/fedfast/fedfast/fl/internal/codec"
	"github.com/fedfast/fedfast/kernels"
)

// builtInTransforms are the transforms that fedfast has, in the order of lists.
var builtInTransforms = []Transform{
	signFlip, scaled, gaussian, labelFlip, alie, innerProduct,
	topK, randomK,
	qsgd, uniform, sign, drive,
}

// init registers them; one that cannot be is a mistake of this package.
func init() {
	for _, t := range builtInTransforms {
		if err := RegisterTransform(t); err != nil {
			panic(err)
		}
	}
}

const blockScale = 32 // bits of the scale of a block

var topK = Transform{
	Name: "topk", Stage: StageSparsify, Uses: []string{"update.keep"}, Biased: true,
	Doc:    "the share update.keep of the values, those of the largest magnitudes",
	Paper:  "Stich et al. 2018, Sparsified SGD with Memory, arXiv:1809.07599",
	Shrink: func(w *Wire, p *Updates) { w.keep(p); w.Extra += w.placeBits() },
	Apply: func(u *Upload) {
		u.work.index = codec.TopK(u.work.index[:0], u.Values, u.kept(), &u.work.counts)
		u.Keep(u.work.index)
	},
}

var randomK = Transform{
	Name: "randomk", Stage: StageSparsify, Uses: []string{"update.keep"}, Biased: true,
	Doc:    "the share update.keep of the values, drawn anew each time; without update.feedback divided by the share, so that the mean is right",
	Paper:  "Stich et al. 2018, Sparsified SGD with Memory, arXiv:1809.07599",
	Shrink: func(w *Wire, p *Updates) { w.keep(p); w.Extra += 64 }, // the key of the draws
	Apply: func(u *Upload) {
		n, k := len(u.Values), u.kept()
		u.work.index = codec.RandomK(u.work.index[:0], n, k, u.Draws())
		u.Keep(u.work.index)
		if !u.Updates.Feedback {
			kernels.Scale(u.Values, float32(float64(n)/float64(k)))
		}
	},
}

// kept returns how many values a sparsifier sends.
func (u *Upload) kept() int {
	w := Wire{Values: len(u.Values)}
	w.keep(u.Updates)
	return w.Values
}

// keep leaves the share update.keep of the values, one at least.
func (w *Wire) keep(p *Updates) { w.Values = min(w.Values, max(1, int(p.Keep*float64(w.Values)))) }

// placeBits returns the bits of the places of values: a number each, or a map of all.
func (w *Wire) placeBits() int64 {
	return min(int64(w.Values)*int64(bits.Len(uint(max(w.Params, 1)-1))), int64(w.Params))
}

var qsgd = Transform{
	Name: "qsgd", Stage: StageQuantize, Uses: []string{"update.bits"},
	Doc:    "stochastic rounding to update.bits bits, by the norm of each block of 2,048 values; the mean is right",
	Paper:  "Alistarh et al. 2017, QSGD, arXiv:1610.02132",
	Shrink: func(w *Wire, p *Updates) { w.quantize(p.Bits) },
	Apply:  func(u *Upload) { codec.QSGD(u.Values, u.Updates.Bits, u.Draws()) },
}

var uniform = Transform{
	Name: "uniform", Stage: StageQuantize, Uses: []string{"update.bits"}, Biased: true,
	Doc:    "rounding to the nearest of equidistant values in update.bits bits, by the largest magnitude of each block of 2,048 values",
	Shrink: func(w *Wire, p *Updates) { w.quantize(p.Bits) },
	Apply:  func(u *Upload) { codec.Uniform(u.Values, u.Updates.Bits) },
}

var sign = Transform{
	Name: "sign", Stage: StageQuantize, Biased: true,
	Doc:    "the sign of each value, times the mean magnitude of its block of 2,048 values",
	Paper:  "Karimireddy et al. 2019, Error Feedback Fixes SignSGD, arXiv:1901.09847",
	Shrink: func(w *Wire, _ *Updates) { w.quantize(1) },
	Apply:  func(u *Upload) { codec.Sign(u.Values) },
}

var drive = Transform{
	Name: "drive", Stage: StageQuantize, Biased: true,
	Doc:   "the signs of each randomly rotated block of 2,048 values, with a scale",
	Paper: "Vargaftik et al. 2021, DRIVE: One-bit Distributed Mean Estimation, arXiv:2105.08339",
	Shrink: func(w *Wire, _ *Updates) {
		if rest := w.Values % codec.Block; rest > 0 { // it is rotated in a block that is a power of 2
			w.Values += codec.Padded(rest) - rest
		}
		w.quantize(1)
	},
	Apply: func(u *Upload) { codec.Drive(u.Values, u.Updates.Feedback, u.Draws()) },
}

// quantize has values of a number of bits, and a scale for each block.
func (w *Wire) quantize(bits int) {
	w.Bits = bits
	w.Extra += blockScale * int64(codec.Blocks(w.Values))
}
