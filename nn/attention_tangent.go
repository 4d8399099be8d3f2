package nn

import "github.com/fedfast/fedfast/kernels"

// shareTangents computes the tangents of the shares of n queries from step q on in
// keys steps: with those dS = dQ K + Q dK of what the softmax P gets, P (dS - sum of P
// dS).
func (s *attentionAlong) shareTangents(q, n, keys int) {
	a, steps, width := &s.along, s.b.in.Seq, kernels.Pad(s.b.size)
	p := kernels.NN{M: n, N: kernels.Pad(keys), K: s.b.size, A: a.query[q*width:], Lda: width, B: s.keysT, BRows: width, C: a.shares, Ldc: kernels.Pad(steps)}
	kernels.GemmNN(&p)
	p.A, p.B, p.Accumulate = s.query[q*width:], a.keysT, true
	kernels.GemmNN(&p)
	kernels.SoftmaxBackward(a.shares, s.shares, p.Ldc, n, p.N)
}

// forwardTangents computes those of the outputs of n queries from step q on.
func (s *attentionAlong) forwardTangents(q, n, keys int) {
	s.shareTangents(q, n, keys)
	a, width := &s.along, kernels.Pad(s.b.size)
	p := kernels.NN{M: n, N: width, K: keys, A: a.shares, Lda: kernels.Pad(s.b.in.Seq), B: s.values, BRows: s.b.in.Seq, C: a.block, Ldc: width}
	kernels.GemmNN(&p)
	p.A, p.B, p.Accumulate = s.shares, a.values, true
	kernels.GemmNN(&p)
}

// slopeTangents computes the tangents of the gradient of what the softmax P got, from
// the gradient G of P, which is in dShares, and the tangents dP and dG:
//
//	dP (G - sum of P G) + P (dG - sum of P dG - sum of dP G)
//
// where dG = dY V + Y dV of the gradient Y of the outputs and the values V.
func (s *attentionAlong) slopeTangents(n, keys int) {
	a, width := &s.along, kernels.Pad(s.b.size)
	ld, cols := kernels.Pad(s.b.in.Seq), kernels.Pad(keys)
	p := kernels.NN{M: n, N: cols, K: s.b.size, A: a.block, Lda: width, B: s.valuesT, BRows: width, C: a.dShares, Ldc: ld}
	kernels.GemmNN(&p)
	p.A, p.B, p.Accumulate = s.block, a.valuesT, true
	kernels.GemmNN(&p)
	for i := range n {
		share, slope := s.shares[i*ld:][:cols], s.dShares[i*ld:][:cols]
		dShare, to := a.shares[i*ld:][:cols], a.dShares[i*ld:][:cols]
		mean := float32(kernels.Dot(share, slope))
		other := float32(kernels.Dot(share, to) + kernels.Dot(dShare, slope))
		for t, g := range slope {
			to[t] = float32(dShare[t]*(g-mean)) + float32(share[t]*(to[t]-other))
		}
	}
}

// blockTangents computes the tangents of the gradient of n queries from step q on, and
// adds to those of keys and values: of every product by both factors.
func (s *attentionAlong) blockTangents(r *Run, q, n, keys int) {
	a, steps, width := &s.along, s.b.in.Seq, kernels.Pad(s.b.size)
	ld := kernels.Pad(steps)
	add := func(c, x, g []float32) {
		kernels.GemmTN(&kernels.TN{M: n, K: keys, N: width, A: x, Lda: ld, G: g, Ldg: width, C: c, CRows: steps, Accumulate: true})
	}
	add(a.dValues, a.shares, s.block)
	add(a.dValues, s.shares, a.block)
	add(a.dKeys, a.dShares, s.query[q*width:])
	add(a.dKeys, s.dShares, a.query[q*width:])
	p := kernels.NN{M: n, N: width, K: keys, A: a.dShares, Lda: ld, B: s.keys, BRows: steps, C: a.dQuery, Ldc: width}
	kernels.GemmNN(&p)
	p.A, p.B, p.Accumulate = s.dShares, a.keys, true
	kernels.GemmNN(&p)
	kernels.Scale(a.dQuery[:n*width], s.scale(r))
}
