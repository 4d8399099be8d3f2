package kernels

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
