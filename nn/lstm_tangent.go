package nn

import "github.com/fedfast/fedfast/kernels"

// lstmTangents holds the tangents of a layer's buffers, laid out like them, and
// what its backward pass needs besides.
type lstmTangents struct {
	bias        []float32
	gates       []float32 // of the activations, then of the gradient of the gates
	dgates      []float32 // the gradient of the gates, whose activations are read on
	c, tanhc, h []float32
	dh          []float32
	dropped     []float32
	wxT, whT    []float32 // of the direction
}

func newLSTMTangents(l lstmLayer, e *Env, rows, hp int) *lstmTangents {
	t := &lstmTangents{
		bias: e.Arena.Alloc(4 * hp), gates: e.Arena.Alloc(rows * 4 * hp), dgates: e.Arena.Alloc(rows * 4 * hp),
		c: e.Arena.Alloc(rows * hp), tanhc: e.Arena.Alloc(rows * hp), h: e.Arena.Alloc(rows * hp), dh: e.Arena.Alloc(rows * hp),
		wxT: e.Arena.Alloc(len(l.wxT)), whT: e.Arena.Alloc(len(l.whT)),
	}
	if l.dropped != nil {
		t.dropped = e.Arena.Alloc(rows * hp)
	}
	return t
}

// inputs returns what layer i reads, the tangents of that, and their row length.
func (s *lstmState) inputs(r *Run, i int) (x, dx []float32, ld int) {
	if i == 0 {
		along := s.x.Tangent()
		return s.x.Data[s.x.Origin:], along.Data[along.Origin:], s.x.Sample
	}
	if below := &s.layers[i-1]; s.drops(r, i-1) {
		return below.dropped, below.tangents.dropped, s.b.hp
	}
	return s.layers[i-1].h, s.layers[i-1].tangents.h, s.b.hp
}

// forwardTangents runs the tangents through all layers.
func (s *lstmState) forwardTangents(r *Run) {
	for i := range s.layers {
		l := &s.layers[i]
		x, dx, ld := s.inputs(r, i)
		l.forwardTangents(r, x, dx, ld, s.b.in.Seq, s.b.hp, s.b.l.Hidden)
		if s.drops(r, i) {
			s.drop(r, i, l.tangents.dropped, l.tangents.h)
		}
	}
	h, n, y := s.layers[len(s.layers)-1].tangents.h, r.N*s.b.hp, s.out.Tangent()
	if s.b.l.EveryStep {
		copy(y.Data, h[:s.b.in.Seq*n])
	} else {
		copy(y.Data, h[(s.b.in.Seq-1)*n:s.b.in.Seq*n])
	}
}

// forwardTangents runs one layer over all steps, from x and its tangents dx.
func (l *lstmLayer) forwardTangents(r *Run, x, dx []float32, ld, steps, hp, hidden int) {
	t, n, g4 := l.tangents, r.N, 4*hp
	copy(t.bias, r.V[l.bx:][:g4])
	if l.bh >= 0 {
		kernels.Add(t.bias, t.bias, r.V[l.bh:][:g4])
	}
	kernels.GemmNN(&kernels.NN{M: steps * n, N: g4, K: l.width, A: x, Lda: ld, B: r.V[l.wx:], Bias: t.bias, C: t.gates, Ldc: g4})
	kernels.GemmNN(&kernels.NN{M: steps * n, N: g4, K: l.width, A: dx, Lda: ld, B: r.W[l.wx:], C: t.gates, Ldc: g4, Accumulate: true})
	for k := range steps {
		at, to := k*n*hp, (k+1)*n*hp
		gates := t.gates[4*at : 4*to]
		var prev, dprev []float32
		if k > 0 {
			kernels.GemmNN(&kernels.NN{M: n, N: g4, K: hidden, A: l.h[at-n*hp : at], Lda: hp, B: r.V[l.wh:], C: gates, Ldc: g4, Accumulate: true})
			kernels.GemmNN(&kernels.NN{M: n, N: g4, K: hidden, A: t.h[at-n*hp : at], Lda: hp, B: r.W[l.wh:], C: gates, Ldc: g4, Accumulate: true})
			prev, dprev = l.c[at-n*hp:at], t.c[at-n*hp:at]
		}
		lstmTangent(gates, l.gates[4*at:4*to], prev, dprev, t.c[at:to], t.tanhc[at:to], t.h[at:to], l.tanhc[at:to])
	}
}

// block is the distance between two gates of a unit; see lstm_pack.go.
const block = kernels.Width

// lstmTangent turns the tangents dgates of a step's pre-activations into those of
// the activations gates, and computes those of c, tanh(c) and h. prev is the cell
// before, nil if it was zero, and dprev its tangent.
func lstmTangent(dgates, gates, prev, dprev, dc, dtanhc, dh, tanhc []float32) {
	for j, tc := range tanhc {
		at := j/block*4*block + j%block
		a, d := gates[at:][:3*block+1], dgates[at:][:3*block+1]
		i, f, g, o := a[0], a[block], a[2*block], a[3*block]
		di := d[0] * (i - float32(i*i))
		df := d[block] * (f - float32(f*f))
		dg := d[2*block] * (1 - float32(g*g))
		do := d[3*block] * (o - float32(o*o))
		d[0], d[block], d[2*block], d[3*block] = di, df, dg, do
		cell := float32(di*g) + float32(i*dg)
		if prev != nil {
			cell += float32(df*prev[j]) + float32(f*dprev[j])
		}
		dc[j] = cell
		dtanhc[j] = (1 - float32(tc*tc)) * cell
		dh[j] = float32(do*tc) + float32(o*dtanhc[j])
	}
}

// backwardTangents is Backward for the tangents of the gradients; that of the input
// itself is computed, too.
func (s *lstmState) backwardTangents(r *Run, dy Act) Act {
	steps, hp, n := s.b.in.Seq, s.b.hp, r.N
	top := len(s.layers) - 1
	dh, along := s.layers[top].dh[:steps*n*hp], s.layers[top].tangents.dh[:steps*n*hp]
	if !s.b.l.EveryStep {
		dh, along = dh[(steps-1)*n*hp:], along[(steps-1)*n*hp:]
	}
	copy(dh, dy.Data[dy.Origin:])
	copy(along, dy.Tangent().Data[dy.Origin:])
	for i := top; i >= 0; i-- {
		l := &s.layers[i]
		s.throughTangents(r, l, i < top || s.b.l.EveryStep)
		x, dx, ld := s.inputs(r, i)
		s.weightTangents(r, l, x, dx, ld)
		switch {
		case i > 0:
			below := &s.layers[i-1]
			s.inputTangents(l, n, below.dh, below.tangents.dh, hp)
			if s.drops(r, i-1) {
				s.drop(r, i-1, below.dh, below.dh)
				s.drop(r, i-1, below.tangents.dh, below.tangents.dh)
			}
		case s.needDX:
			s.inputTangents(l, n, s.dx.Data[s.dx.Origin:], s.dx.Tangent().Data[s.dx.Origin:], s.dx.Sample)
		}
	}
	return s.dx
}

// throughTangents is through for the tangents: it leaves the gradient of the gates
// and its tangents in l.tangents.
func (s *lstmState) throughTangents(r *Run, l *lstmLayer, every bool) {
	t, steps, hp, n := l.tangents, s.b.in.Seq, s.b.hp, r.N
	g4 := 4 * hp
	if r.Base == 0 {
		kernels.PackT(l.whT, g4, r.W[l.wh:], s.b.l.Hidden, s.b.l.Hidden, g4)
		kernels.PackT(t.whT, g4, r.V[l.wh:], s.b.l.Hidden, s.b.l.Hidden, g4)
		if l.wxT != nil {
			kernels.PackT(l.wxT, g4, r.W[l.wx:], l.width, l.width, g4)
			kernels.PackT(t.wxT, g4, r.V[l.wx:], l.width, l.width, g4)
		}
	}
	dc, along, bias := s.dc[:n*hp], s.along[:n*hp], r.G[l.bx:][:g4]
	clear(dc)
	clear(along)
	if r.Starts(0) {
		clear(bias)
	}
	for k := steps - 1; k >= 0; k-- {
		at, to := k*n*hp, (k+1)*n*hp
		if k+1 < steps {
			next, dnext := t.dgates[4*to:], t.gates[4*to:]
			kernels.GemmNN(&kernels.NN{M: n, N: hp, K: g4, A: next, Lda: g4, B: l.whT, C: l.dh[at:to], Ldc: hp, Accumulate: every})
			kernels.GemmNN(&kernels.NN{M: n, N: hp, K: g4, A: dnext, Lda: g4, B: l.whT, C: t.dh[at:to], Ldc: hp, Accumulate: every})
			kernels.GemmNN(&kernels.NN{M: n, N: hp, K: g4, A: next, Lda: g4, B: t.whT, C: t.dh[at:to], Ldc: hp, Accumulate: true})
		}
		gates, dgates := l.gates[4*at:4*to], t.gates[4*at:4*to]
		cell := kernels.LSTMGrad{M: n, H: hp, Gates: gates, TanhC: l.tanhc[at:to], DH: l.dh[at:to], Ldh: hp, DC: dc, DGates: t.dgates[4*at : 4*to]}
		var dprev []float32
		if k > 0 {
			cell.CPrev, dprev = l.c[at-n*hp:at], t.c[at-n*hp:at]
		}
		lstmGradTangent(&cell, dgates, dprev, t.tanhc[at:to], t.dh[at:to], along)
		kernels.LSTMBackward(&cell)
		kernels.ColSum(bias, dgates, n, g4, g4)
	}
	if l.bh >= 0 {
		copy(r.G[l.bh:][:g4], bias)
	}
}

// lstmGradTangent computes the tangents of what kernels.LSTMBackward is about to
// compute from l: those of the gradient of the pre-activations, in place of dgates,
// which holds those of the activations, and that of the gradient by the cell,
// along.
func lstmGradTangent(l *kernels.LSTMGrad, dgates, dprev, dtanhc, ddh, along []float32) {
	for j, dh := range l.DH[:len(along)] {
		at := j/block*4*block + j%block
		a, d := l.Gates[at:][:3*block+1], dgates[at:][:3*block+1]
		i, f, g, o := a[0], a[block], a[2*block], a[3*block]
		di, df, dg, do := d[0], d[block], d[2*block], d[3*block]
		tc, dtc, prev, dp := l.TanhC[j], dtanhc[j], float32(0), float32(0)
		if dprev != nil {
			prev, dp = l.CPrev[j], dprev[j]
		}
		slope := 1 - float32(tc*tc)
		cell := float32(float32(dh*o)*slope) + l.DC[j]
		moved := float32(ddh[j]*o) + float32(dh*do)
		dcell := float32(moved*slope) - float32(float32(2*float32(dh*o))*float32(tc*dtc)) + along[j]
		d[0] = slopeTangent(float32(cell*g), float32(dcell*g)+float32(cell*dg), i-float32(i*i), (1-2*i)*di)
		d[block] = slopeTangent(float32(cell*prev), float32(dcell*prev)+float32(cell*dp), f-float32(f*f), (1-2*f)*df)
		d[2*block] = slopeTangent(float32(cell*i), float32(dcell*i)+float32(cell*di), 1-float32(g*g), -2*float32(g*dg))
		d[3*block] = slopeTangent(float32(dh*tc), float32(ddh[j]*tc)+float32(dh*dtc), o-float32(o*o), (1-2*o)*do)
		along[j] = float32(dcell*f) + float32(cell*df)
	}
}

// slopeTangent returns the tangent of u*slope from those of u and slope.
func slopeTangent(u, du, slope, dslope float32) float32 { return float32(du*slope) + float32(u*dslope) }

// weightTangents is weights for the tangents.
func (s *lstmState) weightTangents(r *Run, l *lstmLayer, x, dx []float32, ldx int) {
	t, hp, n := l.tangents, s.b.hp, r.N
	g4, m, add := 4*hp, s.b.in.Seq*n, !r.Starts(0)
	for i, p := range []kernels.TN{
		{A: x, G: t.gates},
		{A: dx, G: t.dgates},
	} {
		p.M, p.K, p.N, p.Lda, p.Ldg, p.C, p.Accumulate = m, l.width, g4, ldx, g4, r.G[l.wx:], add || i > 0
		kernels.GemmTN(&p)
	}
	for i, p := range []kernels.TN{
		{A: l.h, G: t.gates[n*g4:]},
		{A: t.h, G: t.dgates[n*g4:]},
	} {
		p.M, p.K, p.N, p.Lda, p.Ldg, p.C, p.Accumulate = m-n, s.b.l.Hidden, g4, hp, g4, r.G[l.wh:], add || i > 0
		kernels.GemmTN(&p)
	}
}

// inputTangents computes the gradient of a layer's input and its tangents along.
func (s *lstmState) inputTangents(l *lstmLayer, n int, dx, along []float32, ld int) {
	t, g4 := l.tangents, 4*s.b.hp
	g := kernels.NN{M: s.b.in.Seq * n, N: kernels.Pad(l.width), K: g4, A: t.dgates, Lda: g4, B: l.wxT, C: dx, Ldc: ld}
	kernels.GemmNN(&g)
	g.A, g.C = t.gates, along
	kernels.GemmNN(&g)
	g.A, g.B, g.Accumulate = t.dgates, t.wxT, true
	kernels.GemmNN(&g)
}
