package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// Displacement gathers, over the parts of a step, the products of its gradient g
// and of the displacement d = Anchor - w of the weights w after the step. g is
// what the step goes by before weight decay, proximal term and momentum, a
// TrainOpts.Shift included. It is computed while a part is still in the cache.
type Displacement struct {
	// Anchor is a vector of the model's size.
	Anchor []float32

	gg, gd, dd float64
	scratch    [displacementBlock]float32
}

// displacementBlock is small enough that a block of each vector stays in the first
// cache.
const displacementBlock = 2048

// Reset forgets what was gathered.
func (p *Displacement) Reset() { p.gg, p.gd, p.dd = 0, 0, 0 }

// Cosine returns the cosine of g and d since Reset, 0 if one of them is 0.
func (p *Displacement) Cosine() float64 {
	if p.gg == 0 || p.dd == 0 {
		return 0
	}
	return p.gd / (math.Sqrt(p.gg) * math.Sqrt(p.dd))
}

func (p *Displacement) add(w, g []float32, at int) {
	anchor := p.Anchor[at : at+len(w)]
	for len(w) > 0 {
		n := min(len(w), displacementBlock)
		d := p.scratch[:n]
		kernels.Sub(d, anchor[:n], w[:n])
		p.gd += kernels.Dot(g[:n], d)
		p.gg += kernels.Dot(g[:n], g[:n])
		p.dd += kernels.Dot(d, d)
		w, g, anchor = w[n:], g[n:], anchor[n:]
	}
}
