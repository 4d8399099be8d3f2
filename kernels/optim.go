package kernels

// SGD is one step of stochastic gradient descent on the weights W with the gradient
// G, as in PyTorch, with the proximal term of FedProx:
//
//	d = G[i];  d = WeightDecay*W[i] + d;  d = Mu*(W[i]-Anchor[i]) + d   (the last only with an Anchor)
//	V[i] = Momentum*V[i] + d, or d if First;  d = V[i]                  (only with V; d = d + Momentum*V[i] if Nesterov)
//	W[i] = -LR*d + W[i]
//
// where every product and sum is one fused multiply-add on assembly levels, unless
// Nesterov: then each is rounded, and all levels agree.
type SGD struct {
	W, G   []float32 // weights, changed; gradient
	V      []float32 // velocity, changed; nil means no momentum
	Anchor []float32 // weights at the start of the round; nil means no proximal term

	LR, Momentum, WeightDecay, Mu float32

	First    bool // the velocity starts here, whatever V holds
	Nesterov bool // the step looks ahead along V; does nothing without V
}

// sgdRates is what the step functions read; its layout is known to _asm.
type sgdRates struct{ lr, momentum, decay, mu float32 }

// optimTable holds the steps of one level, without and with momentum, for blocks of
// equal, positive lengths. anchor is empty when there is no proximal term.
type optimTable struct {
	plain              func(w, g, anchor []float32, r sgdRates)
	momentum, velocity func(w, g, v, anchor []float32, r sgdRates) // velocity is the first step with momentum
	nesterov           func(w, g, v, anchor []float32, r sgdRates)
	adam               func(w, g, m, v, anchor []float32, r adamRates)
}

var optims optimTable

// SGDStep does the step. All slices that are not nil must be of one length, and W,
// G, V and Anchor must not overlap.
func SGDStep(s *SGD) {
	n := len(s.W)
	if len(s.G) != n || s.V != nil && len(s.V) != n || s.Anchor != nil && len(s.Anchor) != n {
		panic(msgLengths)
	}
	raceRead(s.G)
	raceRead(s.Anchor)
	raceWrite(s.W)
	raceWrite(s.V)
	r := sgdRates{s.LR, s.Momentum, s.WeightDecay, s.Mu}
	for i := 0; i < n; i += mapBlock {
		end := min(n, i+mapBlock)
		var v, anchor []float32
		if s.V != nil {
			v = s.V[i:end]
		}
		if s.Anchor != nil {
			anchor = s.Anchor[i:end]
		}
		callSGD(s.W[i:end], s.G[i:end], v, anchor, r, s.First, s.Nesterov)
	}
}

//go:noinline
func callSGD(w, g, v, anchor []float32, r sgdRates, first, nesterov bool) {
	switch {
	case v == nil:
		optims.plain(w, g, anchor, r)
	case nesterov:
		if first {
			clear(v)
		}
		optims.nesterov(w, g, v, anchor, r)
	case first:
		optims.velocity(w, g, v, anchor, r)
	default:
		optims.momentum(w, g, v, anchor, r)
	}
}

// Adam is one step of Adam on the weights W with the gradient G, or of AdamW, with
// the proximal term of FedProx:
//
//	d = Decay*W[i] + G[i];  d = d + Mu*(W[i]-Anchor[i])   (the last only with an Anchor)
//	M[i] = Beta1*M[i] + Rest1*d
//	V[i] = Beta2*V[i] + (Rest2*d)*d
//	W[i] = Keep*W[i] - Rate*(M[i]/(sqrt(V[i])*Scale + Eps))
//
// where every operation is rounded, so that all levels agree in every bit.
type Adam struct {
	W, G   []float32 // weights, changed; gradient
	M, V   []float32 // first and second moment, changed
	Anchor []float32 // weights at the start of the round; nil means no proximal term

	Decay, Mu    float32 // Decay is Adam's weight decay
	Keep         float32 // 1 for Adam, 1 - learning rate * weight decay for AdamW
	Beta1, Rest1 float32 // Rest1 is 1 - Beta1
	Beta2, Rest2 float32
	Rate         float32 // the learning rate with the first moment's bias correction
	Scale        float32 // the bias correction of the second moment's root
	Eps          float32 // above 0

	First bool // the moments start here, at 0, whatever M and V hold
}

// adamRates is what the step reads; its layout is known to _asm.
type adamRates struct{ decay, mu, keep, beta1, rest1, beta2, rest2, rate, scale, eps float32 }

// adamBlock is the most elements of a call: a step goes over seven times as much
// memory as it has weights.
const adamBlock = 1 << 14

// AdamStep does the step. All slices that are not nil must be of one length and
// must not overlap.
func AdamStep(a *Adam) {
	n := len(a.W)
	if len(a.G) != n || len(a.M) != n || len(a.V) != n || a.Anchor != nil && len(a.Anchor) != n {
		panic(msgLengths)
	}
	raceRead(a.G)
	raceRead(a.Anchor)
	raceWrite(a.W)
	raceWrite(a.M)
	raceWrite(a.V)
	r := adamRates{a.Decay, a.Mu, a.Keep, a.Beta1, a.Rest1, a.Beta2, a.Rest2, a.Rate, a.Scale, a.Eps}
	for i := 0; i < n; i += adamBlock {
		end := min(n, i+adamBlock)
		m, v := a.M[i:end], a.V[i:end]
		if a.First {
			clear(m)
			clear(v)
		}
		var anchor []float32
		if a.Anchor != nil {
			anchor = a.Anchor[i:end]
		}
		callAdam(a.W[i:end], a.G[i:end], m, v, anchor, r)
	}
}

//go:noinline
func callAdam(w, g, m, v, anchor []float32, r adamRates) { optims.adam(w, g, m, v, anchor, r) }
