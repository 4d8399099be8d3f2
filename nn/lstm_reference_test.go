package nn

import "math/cmplx"

// lstmReference is a float64 sequence network in canonical layout, written from
// the textbook equations and sharing nothing with the layers under test:
//
//	i, f, g, o = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh
//	c_t = sigmoid(f + forget) c_{t-1} + sigmoid(i) tanh(g)
//	h_t = sigmoid(o) tanh(c_t)
//
// then a dense layer at the last or at every step and mean cross-entropy over
// the unmasked labels. Its numbers are complex for the reason that reference has.
type lstmReference struct {
	seq, embed, hidden int
	padding            int // token whose embedding is the zero row; -1: none
	biases             int // bias vectors of a recurrent layer: 1 or 2
	forget             float64
	every              bool
	gru                bool
	layers             int
	denses             int // dense layers after the recurrent ones, no activation between
	params             complexParams
}

func newLSTMReference(r lstmReference, ts []Tensor) *lstmReference {
	r.params = newComplexParams(ts)
	return &r
}

func sigmoid64(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) }

// affine adds w x to y, w of shape [len(y), len(x)].
func affine(y, w, x []complex128) {
	for j := range y {
		var s complex128
		for k, v := range x {
			s += w[j*len(x)+k] * v
		}
		y[j] += s
	}
}

// sample returns the logits of one token sequence: one row, or one a step.
func (r *lstmReference) sample(tokens []int32) [][]complex128 {
	next := 0
	take := func() []complex128 { next++; return r.params[next-1] }
	table := take()
	var xs [][]complex128
	for _, tok := range tokens {
		x := make([]complex128, r.embed)
		if int(tok) != r.padding {
			copy(x, table[int(tok)*r.embed:])
		}
		xs = append(xs, x)
	}
	for range r.layers {
		wx, wh := take(), take()
		if r.gru {
			xs = gruSteps(xs, wx, wh, take(), take())
			continue
		}
		bias := append([]complex128(nil), take()...)
		if r.biases == 2 {
			for i, v := range take() {
				bias[i] += v
			}
		}
		h, c := make([]complex128, r.hidden), make([]complex128, r.hidden)
		hs := make([][]complex128, len(xs))
		for t, x := range xs {
			z := append([]complex128(nil), bias...)
			affine(z, wx, x)
			affine(z, wh, h)
			hs[t] = make([]complex128, r.hidden)
			for u := range r.hidden {
				i, f := sigmoid64(z[u]), sigmoid64(z[r.hidden+u]+complex(r.forget, 0))
				g, o := cmplx.Tanh(z[2*r.hidden+u]), sigmoid64(z[3*r.hidden+u])
				c[u] = f*c[u] + i*g
				hs[t][u] = o * cmplx.Tanh(c[u])
			}
			h = hs[t]
		}
		xs = hs
	}
	if !r.every {
		xs = xs[len(xs)-1:]
	}
	for range r.denses {
		w, b := take(), take()
		for t, x := range xs {
			y := append([]complex128(nil), b...)
			affine(y, w, x)
			xs[t] = y
		}
	}
	return xs
}

// gruSteps runs a layer of gated recurrent units with PyTorch's equations:
//
//	r, z = sigmoid(W_i x + b_i + W_h h + b_h)
//	n = tanh(W_in x + b_in + r (W_hn h + b_hn))
//	h = (1 - z) n + z h
func gruSteps(xs [][]complex128, wx, wh, bx, bh []complex128) [][]complex128 {
	hidden := len(bx) / 3
	h := make([]complex128, hidden)
	var hs [][]complex128
	for _, x := range xs {
		a, b := append([]complex128(nil), bx...), append([]complex128(nil), bh...)
		affine(a, wx, x)
		affine(b, wh, h)
		next := make([]complex128, hidden)
		for u := range hidden {
			r, z := sigmoid64(a[u]+b[u]), sigmoid64(a[hidden+u]+b[hidden+u])
			n := cmplx.Tanh(a[2*hidden+u] + r*b[2*hidden+u])
			next[u] = (1-z)*n + z*h[u]
		}
		h = next
		hs = append(hs, h)
	}
	return hs
}

// loss is the mean cross-entropy over the unmasked labels of a batch.
func (r *lstmReference) loss(b *Batch) float64 { return real(r.complexLoss(b)) }

func (r *lstmReference) complexLoss(b *Batch) complex128 {
	var sum, count complex128
	for n := range b.N {
		rows := r.sample(b.Tokens[n*r.seq : (n+1)*r.seq])
		for t, z := range rows {
			label := b.Labels[n*len(rows)+t]
			if label < 0 {
				continue
			}
			var total complex128
			for _, v := range z {
				total += cmplx.Exp(v)
			}
			sum += cmplx.Log(total) - z[label]
			count++
		}
	}
	return sum / count
}

// slope is the derivative of the loss by element e of parameter p.
func (r *lstmReference) slope(b *Batch, p, e int) float64 {
	return r.params.slope(func() complex128 { return r.complexLoss(b) }, p, e)
}

// curve is an element of the product of the loss' Hessian with v, by a step.
func (r *lstmReference) curve(b *Batch, v []Tensor, step float64, p, e int) float64 {
	return r.params.curve(func() complex128 { return r.complexLoss(b) }, v, step, p, e)
}
