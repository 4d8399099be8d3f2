package nn

import "github.com/fedfast/fedfast/kernels"

// SGD is stochastic gradient descent as PyTorch defines it, with a proximal term
// of weight Mu towards an anchor.
type SGD struct{ LR, Momentum, WeightDecay, Mu float32 }

// Step updates the weights w in one pass:
//
//	d = grad + WeightDecay*w + Mu*(w - anchor)
//	velocity = d if first, else Momentum*velocity + d;  d = velocity
//	w -= LR*d
//
// velocity may be nil when Momentum is 0, anchor when Mu is 0. All slices have
// the model's size.
func (s SGD) Step(w, grad, velocity, anchor []float32, first bool) {
	k := kernels.SGD{W: w, G: grad, LR: s.LR, WeightDecay: s.WeightDecay, First: first}
	if s.Momentum != 0 {
		k.V, k.Momentum = velocity, s.Momentum
	}
	if s.Mu != 0 {
		k.Anchor, k.Mu = anchor, s.Mu
	}
	kernels.SGDStep(&k)
}
