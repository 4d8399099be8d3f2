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

	sums [3]float64 // of g*g, g*d and d*d
}

// Reset forgets what was gathered.
func (p *Displacement) Reset() { p.sums = [3]float64{} }

// Cosine returns the cosine of g and d since Reset, 0 if one of them is 0.
func (p *Displacement) Cosine() float64 {
	gg, gd, dd := p.sums[0], p.sums[1], p.sums[2]
	if gg == 0 || dd == 0 {
		return 0
	}
	return gd / (math.Sqrt(gg) * math.Sqrt(dd))
}

func (p *Displacement) add(w, g []float32, at int) {
	gg, gd, dd := kernels.Away(w, g, p.Anchor[at:at+len(w)])
	p.sums[0] += gg
	p.sums[1] += gd
	p.sums[2] += dd
}
