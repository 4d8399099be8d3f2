package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// SGD are the settings of stochastic gradient descent as PyTorch defines it, with a
// proximal term of weight Mu towards an anchor.
type SGD struct {
	LR, Momentum, WeightDecay, Mu float32
	// Nesterov looks ahead along the velocity.
	Nesterov bool
	// ClipNorm, when above 0, bounds the norm of the gradient, as PyTorch's
	// clip_grad_norm_ does with the gradient of all parameters. The proximal term
	// is part of what is bounded, weight decay is not.
	ClipNorm float32
}

// Optimizer is stochastic gradient descent, or Adam, with what it remembers from
// step to step.
type Optimizer struct {
	SGD
	Adam Adam
	// Velocity has the model's size; it may be nil when Momentum is 0. It is the
	// first moment of Adam.
	Velocity []float32
	// Second is the second moment of Adam, of the model's size; it may be nil for
	// SGD.
	Second []float32
	// Anchor has the model's size; it may be nil when Mu is 0.
	Anchor []float32
	// Biases, when not nil, are spans in ascending order where BiasDecay applies
	// instead of WeightDecay, see Model.Biases.
	Biases    []Span
	BiasDecay float32
	// Steps counts the steps taken. At 0 the next one starts the velocity and the
	// moments afresh, whatever is in them.
	Steps int
}

// Step updates the weights w, of the model's size like their gradient, or without the
// model's buffers, in one pass:
//
//	d = grad + WeightDecay*w + Mu*(w - Anchor)
//	Velocity = d in the first step, else Momentum*Velocity + d
//	d = Velocity, or d + Momentum*Velocity if Nesterov
//	w -= LR*d
//
// or by Adam, see kernels.Adam. With ClipNorm, in two: grad and Mu are multiplied
// before by
//
//	min(1, ClipNorm / (|grad + Mu*(w - Anchor)| + 1e-6))
func (o *Optimizer) Step(w, grad []float32) {
	u := o.update(TrainOpts{})
	u.whole(w, grad)
}

// update begins a step.
func (o *Optimizer) update(t TrainOpts) update {
	o.Steps++
	u := update{SGD: o.SGD, velocity: o.Velocity, anchor: o.Anchor, first: o.Steps == 1, only: t.Only, shift: t.Shift, probe: t.Probe}
	if o.Adam.On {
		u.second, u.adam = o.Second, o.Adam.step(o.SGD, o.Steps)
	}
	if o.Biases != nil {
		u.biases, u.plainDecay, u.biasDecay = o.Biases, u.WeightDecay, o.BiasDecay
		u.rule, u.steps = o.Adam, o.Steps
	}
	return u
}

// update is a step to be taken part by part.
type update struct {
	SGD
	velocity, anchor []float32
	first            bool
	second           []float32    // not nil in a step of Adam
	adam             kernels.Adam // without its slices
	only             Span
	frozen           []Span // that the step leaves as they are
	shift            []float32
	probe            *Displacement

	// Of a step that decays biases by themselves:
	biases                []Span
	plainDecay, biasDecay float32
	rule                  Adam
	steps                 int
}

// decays sets the weight decay of what is stepped next.
func (u *update) decays(by float32) {
	if u.WeightDecay = by; u.second != nil {
		u.adam = u.rule.step(u.SGD, u.steps)
	}
}

// fused reports whether the step is one that kernels take along with a product.
func (u *update) fused() bool {
	return u.only.empty() && u.frozen == nil && u.shift == nil && u.second == nil && !u.Nesterov
}

// plain reports whether such a step is all there is to do with a gradient.
func (u *update) plain() bool { return u.fused() && u.probe == nil }

// measured reports whether it is all there is to do but for the probe after it.
func (u *update) measured() bool { return u.fused() && u.probe != nil && !u.probe.Prior }

// near returns the part [lo, end) of a vector that the step reads besides weights
// and velocity, nil if it reads none.
func (u *update) near(lo, end int) []float32 {
	switch {
	case u.probe != nil:
		return u.probe.Anchor[lo:end]
	case u.shift != nil:
		return u.shift[lo:end]
	case u.Mu != 0:
		return u.anchor[lo:end]
	case u.second != nil:
		return u.second[lo:end]
	case u.Nesterov && u.Momentum != 0:
		return u.velocity[lo:end]
	}
	return nil
}

// step returns the step on the weights [lo, end) of w, without their gradient.
func (u *update) step(w []float32, lo, end int) kernels.SGD {
	k := kernels.SGD{W: w[lo:end], LR: u.LR, WeightDecay: u.WeightDecay, First: u.first, Nesterov: u.Nesterov}
	if u.Momentum != 0 {
		k.V, k.Momentum = u.velocity[lo:end], u.Momentum
	}
	if u.Mu != 0 {
		k.Anchor, k.Mu = u.anchor[lo:end], u.Mu
	}
	return k
}

// stepAdam takes the step on the weights [at, end) of w.
func (u *update) stepAdam(w, grad []float32, at, end int) {
	k := u.adam
	k.W, k.G, k.M, k.V = w[at:end], grad, u.velocity[at:end], u.second[at:end]
	if u.Mu != 0 {
		k.Anchor, k.Mu = u.anchor[at:end], u.Mu
	}
	kernels.AdamStep(&k)
}

// zeros is a gradient of weights that a batch did not use.
var zeros [4096]float32

// drift updates the weights [lo, hi), whose gradient is zero.
func (u *update) drift(w []float32, lo, hi int) {
	for ; lo < hi; lo += len(zeros) {
		u.apply(w, zeros[:min(len(zeros), hi-lo)], lo)
	}
}

// whole updates the weights w by the whole gradient, which it may overwrite.
func (u *update) whole(w, grad []float32) {
	if u.ClipNorm > 0 {
		u.clip(w, grad)
	}
	u.apply(w, grad, 0)
}

// clip bounds the norm of the gradient of what is trained.
func (u *update) clip(w, grad []float32) {
	lo, hi := 0, len(grad)
	if !u.only.empty() {
		lo, hi = u.only.Lo, u.only.Hi
	}
	w, grad = w[lo:hi], grad[lo:hi]
	if u.shift != nil {
		kernels.Add(grad, grad, u.shift[lo:hi])
		u.shift = nil
	}
	var square float64
	if mu := float64(u.Mu); mu != 0 {
		gg, gd, dd := kernels.Away(w, grad, u.anchor[lo:hi]) // d = anchor - w
		square = max(0, gg-float64(float64(2*mu)*gd)+float64(float64(mu*mu)*dd))
	} else {
		square = kernels.Dot(grad, grad)
	}
	if share := float64(u.ClipNorm) / (math.Sqrt(square) + 1e-6); share < 1 {
		kernels.Scale(grad, float32(share))
		u.Mu *= float32(share)
	}
}

// apply updates the part of the weights w that starts at and has the gradient
// grad.
func (u *update) apply(w, grad []float32, at int) {
	end := at + len(grad)
	if !u.only.empty() {
		lo, hi := max(at, u.only.Lo), min(end, u.only.Hi)
		if lo >= hi {
			return
		}
		grad, at, end = grad[lo-at:hi-at], lo, hi
	}
	for _, f := range u.frozen {
		lo, hi := max(at, f.Lo), min(end, f.Hi)
		if lo >= hi {
			continue
		}
		u.applyTo(w, grad[:lo-at], at)
		grad, at = grad[hi-at:], hi
	}
	u.applyTo(w, grad, at)
}

// applyTo updates weights of which none is frozen.
func (u *update) applyTo(w, grad []float32, at int) {
	end := at + len(grad)
	if len(grad) == 0 {
		return
	}
	if u.shift != nil {
		kernels.Add(grad, grad, u.shift[at:end])
	}
	if u.probe != nil && u.probe.Prior {
		u.probe.add(&u.probe.prior, w[at:end], grad, at)
	}
	u.parts(w, grad, at)
	if u.probe != nil {
		u.probe.add(&u.probe.sums, w[at:end], grad, at)
	}
}

// parts takes the step on the weights from at on, those with a decay of their own
// apart.
func (u *update) parts(w, grad []float32, at int) {
	end := at + len(grad)
	for _, b := range u.biases {
		lo, hi := max(at, b.Lo), min(end, b.Hi)
		if lo >= hi {
			continue
		}
		u.decays(u.plainDecay)
		u.part(w, grad[:lo-at], at)
		u.decays(u.biasDecay)
		u.part(w, grad[lo-at:hi-at], lo)
		grad, at = grad[hi-at:], hi
	}
	if u.biases != nil {
		u.decays(u.plainDecay)
	}
	u.part(w, grad, at)
}

// part takes the step on the weights from at on.
func (u *update) part(w, grad []float32, at int) {
	end := at + len(grad)
	switch {
	case len(grad) == 0:
	case u.second != nil:
		u.stepAdam(w, grad, at, end)
	default:
		k := u.step(w, at, end)
		k.G = grad
		kernels.SGDStep(&k)
	}
}

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
