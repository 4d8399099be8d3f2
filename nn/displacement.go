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
}

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
	gg, gd, dd := kernels.Away(w, g, p.Anchor[at:at+len(w)])
	p.gg, p.gd, p.dd = p.gg+gg, p.gd+gd, p.dd+dd
}
