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
	// Prior also gathers the products with the displacement before the step. Then
	// large dense layers are taken part by part.
	Prior bool

	sums, prior [3]float64 // of g*g, g*d and d*d
}

// Reset forgets what was gathered.
func (p *Displacement) Reset() { p.sums, p.prior = [3]float64{}, [3]float64{} }

// Cosine returns the cosine of g and d since Reset, 0 if one of them is 0.
func (p *Displacement) Cosine() float64 { return cosine(p.sums) }

// PriorCosine returns the cosine of g and the displacement before the step; ok is
// false if the weights were the anchor then, or Prior is not set.
func (p *Displacement) PriorCosine() (cos float64, ok bool) { return cosine(p.prior), p.prior[2] > 0 }

func cosine(sums [3]float64) float64 {
	gg, gd, dd := sums[0], sums[1], sums[2]
	if gg == 0 || dd == 0 {
		return 0
	}
	return gd / (math.Sqrt(gg) * math.Sqrt(dd))
}

// add adds the products of a part that starts at to sums.
func (p *Displacement) add(sums *[3]float64, w, g []float32, at int) {
	gg, gd, dd := kernels.Away(w, g, p.Anchor[at:at+len(w)])
	sums[0] += gg
	sums[1] += gd
	sums[2] += dd
}
