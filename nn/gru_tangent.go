package nn

import "github.com/fedfast/fedfast/kernels"

// gruTangents holds the tangents of a GRU's buffers, laid out like them, and what its
// backward pass needs besides.
type gruTangents struct {
	gates, recur, h, dh []float32
	wxT, whT            []float32 // of the direction
}

func newGRUTangents(s *gruState, e *Env, rows int) *gruTangents {
	hp := s.b.hp
	return &gruTangents{
		gates: e.Arena.Alloc(rows * 3 * hp), recur: e.Arena.Alloc(rows * 3 * hp), h: e.Arena.Alloc(rows * hp), dh: e.Arena.Alloc(rows * hp),
		wxT: e.Arena.Alloc(len(s.wxT)), whT: e.Arena.Alloc(len(s.whT)),
	}
}

// forwardTangents runs the tangents through all steps.
func (s *gruState) forwardTangents(r *Run) {
	d, hp, n, m := s.tangents, s.b.hp, r.N, s.b.in.Seq*r.N
	g3, x, dx := 3*hp, s.x, s.x.Tangent()
	kernels.GemmNN(&kernels.NN{M: m, N: g3, K: s.b.in.C, A: x.Data[x.Origin:], Lda: x.Sample, B: r.V[s.wx:], Bias: r.V[s.bx:][:g3], C: d.gates, Ldc: g3})
	kernels.GemmNN(&kernels.NN{M: m, N: g3, K: s.b.in.C, A: dx.Data[dx.Origin:], Lda: x.Sample, B: r.W[s.wx:], C: d.gates, Ldc: g3, Accumulate: true})
	for t := range s.b.in.Seq {
		recur := d.recur[t*n*g3:][:n*g3]
		if before := (t - 1) * n * hp; t > 0 {
			kernels.GemmNN(&kernels.NN{M: n, N: g3, K: s.b.l.Hidden, A: s.h[before:], Lda: hp, B: r.V[s.wh:], Bias: r.V[s.bh:][:g3], C: recur, Ldc: g3})
			kernels.GemmNN(&kernels.NN{M: n, N: g3, K: s.b.l.Hidden, A: d.h[before:], Lda: hp, B: r.W[s.wh:], C: recur, Ldc: g3, Accumulate: true})
		}
		for i := range n {
			if t == 0 {
				copy(recur[i*g3:][:g3], r.V[s.bh:])
			}
			forwardGRUTangent(s.row(s.gates, s.recur, s.h, t, n, i), s.row(d.gates, d.recur, d.h, t, n, i))
		}
	}
	s.give(s.out.Tangent(), d.h, n)
}

// forwardGRUTangent turns the tangents d of what the products of a row gave into those
// of its activations v and of h.
func forwardGRUTangent(v, d gru) {
	for j, z := range v.z {
		r, n := v.r[j], v.n[j]
		d.r[j] = (d.r[j] + d.ar[j]) * (r - float32(r*r))
		d.z[j] = (d.z[j] + d.az[j]) * (z - float32(z*z))
		d.n[j] = (d.n[j] + float32(d.r[j]*v.an[j]) + float32(r*d.an[j])) * (1 - float32(n*n))
		h := d.n[j] - float32(z*d.n[j]) - float32(d.z[j]*n)
		if v.prev != nil {
			h += float32(d.z[j]*v.prev[j]) + float32(z*d.prev[j])
		}
		d.h[j] = h
	}
}

// backwardTangents is Backward for the tangents of the gradients; that of the input
// itself is computed, too.
func (s *gruState) backwardTangents(r *Run, dy Act) Act {
	d, hp, n := s.tangents, s.b.hp, r.N
	g3 := 3 * hp
	s.take(s.dh, dy, n)
	s.take(d.dh, dy.Tangent(), n)
	s.turn(r)
	if r.Base == 0 {
		kernels.PackT(d.whT, g3, r.V[s.wh:], s.b.l.Hidden, s.b.l.Hidden, g3)
		if s.needDX {
			kernels.PackT(d.wxT, g3, r.V[s.wx:], s.b.in.C, s.b.in.C, g3)
		}
	}
	for t := s.b.in.Seq - 1; t >= 0; t-- {
		for i := range n {
			at := (t*n + i) * hp
			var back []float32
			if t > 0 {
				back = d.dh[at-n*hp:][:hp]
			}
			backwardGRUTangent(s.row(s.gates, s.recur, s.h, t, n, i), s.row(d.gates, d.recur, d.h, t, n, i), s.dh[at:][:hp], d.dh[at:][:hp], back)
			s.backwardRow(t, n, i)
		}
		if to := (t - 1) * n * hp; t > 0 {
			g := kernels.NN{M: n, N: hp, K: g3, A: s.recur[t*n*g3:], Lda: g3, B: s.whT, C: s.dh[to:], Ldc: hp, Accumulate: true}
			kernels.GemmNN(&g)
			g.B, g.C = d.whT, d.dh[to:]
			kernels.GemmNN(&g)
			g.A, g.B = d.recur[t*n*g3:], s.whT
			kernels.GemmNN(&g)
		}
	}
	s.sums(r, d.gates, d.recur)
	along := s.x.Tangent()
	s.products(r, s.x.Data[s.x.Origin:], s.h, d.gates, d.recur, !r.Starts(0))
	s.products(r, along.Data[along.Origin:], d.h, s.gates, s.recur, true)
	if s.needDX {
		s.input(s.dx, s.gates, s.wxT, n, false)
		s.input(s.dx.Tangent(), d.gates, s.wxT, n, false)
		s.input(s.dx.Tangent(), s.gates, d.wxT, n, true)
	}
	return s.dx
}

// backwardGRUTangent replaces the tangents d of a row's activations v by those of the
// gradients that backwardRow is about to compute from dh, whose tangent is along, and
// adds what goes by z to back, the tangent of the step before.
func backwardGRUTangent(v, d gru, dh, along, back []float32) {
	for j, g := range dh {
		r, z, n, a := v.r[j], v.z[j], v.n[j], v.an[j]
		mr, mz, mn, ma := d.r[j], d.z[j], d.n[j], d.an[j]
		var prev, moved float32
		if v.prev != nil {
			prev, moved = v.prev[j], d.prev[j]
			back[j] += float32(along[j]*z) + float32(g*mz)
		}
		dn := g - float32(g*z)
		mdn := along[j] - float32(along[j]*z) - float32(g*mz)
		dz := g * (prev - n)
		mdz := float32(along[j]*(prev-n)) + float32(g*(moved-mn))
		slope := 1 - float32(n*n)
		an := dn * slope
		man := slopeTangent(dn, mdn, slope, -2*float32(n*mn))
		dr := an * a
		mdr := float32(man*a) + float32(an*ma)
		d.n[j], d.an[j] = man, float32(man*r)+float32(an*mr)
		d.z[j] = slopeTangent(dz, mdz, z-float32(z*z), (1-2*z)*mz)
		d.r[j] = slopeTangent(dr, mdr, r-float32(r*r), (1-2*r)*mr)
		d.az[j], d.ar[j] = d.z[j], d.r[j]
	}
}
