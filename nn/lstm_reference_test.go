package nn

import "math"

// lstmReference is a float64 sequence network in canonical layout, written from
// the textbook equations and sharing nothing with the layers under test:
//
//	i, f, g, o = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh
//	c_t = sigmoid(f + forget) c_{t-1} + sigmoid(i) tanh(g)
//	h_t = sigmoid(o) tanh(c_t)
//
// then a dense layer at the last or at every step and mean cross-entropy over
// the unmasked labels.
type lstmReference struct {
	seq, embed, hidden int
	padding            int // token whose embedding is the zero row; -1: none
	biases             int // bias vectors of a recurrent layer: 1 or 2
	forget             float64
	every              bool
	layers             int
	denses             int // dense layers after the recurrent ones, no activation between
	params             [][]float64
	shapes             [][]int
}

func newLSTMReference(r lstmReference, ts []Tensor) *lstmReference {
	for _, t := range ts {
		p := make([]float64, len(t.Data))
		for i, v := range t.Data {
			p[i] = float64(v)
		}
		r.params = append(r.params, p)
		r.shapes = append(r.shapes, t.Shape)
	}
	return &r
}

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// affine adds w x to y, w of shape [len(y), len(x)].
func affine(y, w, x []float64) {
	for j := range y {
		s := 0.0
		for k, v := range x {
			s += w[j*len(x)+k] * v
		}
		y[j] += s
	}
}

// sample returns the logits of one token sequence: one row, or one a step.
func (r *lstmReference) sample(tokens []int32) [][]float64 {
	next := 0
	take := func() []float64 { next++; return r.params[next-1] }
	table := take()
	var xs [][]float64
	for _, tok := range tokens {
		x := make([]float64, r.embed)
		if int(tok) != r.padding {
			copy(x, table[int(tok)*r.embed:])
		}
		xs = append(xs, x)
	}
	for range r.layers {
		wx, wh := take(), take()
		bias := append([]float64(nil), take()...)
		if r.biases == 2 {
			for i, v := range take() {
				bias[i] += v
			}
		}
		h, c := make([]float64, r.hidden), make([]float64, r.hidden)
		hs := make([][]float64, len(xs))
		for t, x := range xs {
			z := append([]float64(nil), bias...)
			affine(z, wx, x)
			affine(z, wh, h)
			hs[t] = make([]float64, r.hidden)
			for u := range r.hidden {
				i, f := sigmoid64(z[u]), sigmoid64(z[r.hidden+u]+r.forget)
				g, o := math.Tanh(z[2*r.hidden+u]), sigmoid64(z[3*r.hidden+u])
				c[u] = f*c[u] + i*g
				hs[t][u] = o * math.Tanh(c[u])
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
			y := append([]float64(nil), b...)
			affine(y, w, x)
			xs[t] = y
		}
	}
	return xs
}

// loss is the mean cross-entropy over the unmasked labels of a batch.
func (r *lstmReference) loss(b *Batch) float64 {
	sum, count := 0.0, 0
	for n := range b.N {
		rows := r.sample(b.Tokens[n*r.seq : (n+1)*r.seq])
		for t, z := range rows {
			label := b.Labels[n*len(rows)+t]
			if label < 0 {
				continue
			}
			total := 0.0
			for _, v := range z {
				total += math.Exp(v)
			}
			sum += math.Log(total) - z[label]
			count++
		}
	}
	return sum / float64(count)
}

// slope is the central difference of the loss along element e of parameter p.
func (r *lstmReference) slope(b *Batch, p, e int) float64 {
	const h = 1e-5
	w := r.params[p]
	old := w[e]
	w[e] = old + h
	up := r.loss(b)
	w[e] = old - h
	down := r.loss(b)
	w[e] = old
	return (up - down) / (2 * h)
}
