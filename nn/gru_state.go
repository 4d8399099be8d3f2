package nn

import "github.com/fedfast/fedfast/kernels"

// gruState holds the activations of one chunk. Every buffer is time-major, as those
// of lstmState are.
type gruState struct {
	recurrent
	b                *boundGRU
	needDX           bool
	bx, bh           int // offsets of the biases
	x                Act
	gates            []float32 // r, z, n, then the gradient of what W_ih gives, seq x n x 3hp
	recur            []float32 // what W_hh gives, then its gradient, seq x n x 3hp
	h, dh            []float32 // seq x n x hp
	dz, dn, dr, keep []float32 // of one row
	out, dx          Act
}

func (b *boundGRU) NewState(e *Env) State {
	hp, rows := b.hp, b.in.Seq*e.Samples
	s := &gruState{
		recurrent: newRecurrent(e, e.Offset, rows, b.in.C, b.in.Ld(), b.l.Hidden, 3, e.NeedDX, b.l.bf16, b.l.amx),
		b:         b, needDX: e.NeedDX, out: e.Output(),
		gates: e.Arena.Alloc(rows * 3 * hp), recur: e.Arena.Alloc(rows * 3 * hp),
		h: e.Arena.Alloc(rows * hp), dh: e.Arena.Alloc(rows * hp),
		dz: e.Arena.Alloc(hp), dn: e.Arena.Alloc(hp), dr: e.Arena.Alloc(hp), keep: e.Arena.Alloc(hp),
	}
	s.bx, s.bh = s.biases, s.biases+3*hp
	s.dx = e.Gradient()
	return s
}

// gru is the part of one row in the buffers of a step.
type gru struct{ r, z, n, ar, az, an, h, prev []float32 }

// row returns that of row i of step t; prev is nil in the first step.
func (s *gruState) row(gates, recur, h []float32, t, n, i int) gru {
	hp := s.b.hp
	at := (t*n + i) * hp
	a, c := gates[3*at:][:3*hp], recur[3*at:][:3*hp]
	v := gru{a[:hp], a[hp : 2*hp], a[2*hp:], c[:hp], c[hp : 2*hp], c[2*hp:], h[at:][:hp], nil}
	if t > 0 {
		v.prev = h[at-n*hp:][:hp]
	}
	return v
}

func (s *gruState) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	steps, hp, n := s.b.in.Seq, s.b.hp, r.N
	g3 := 3 * hp
	bx, bh := r.W[s.bx:][:g3], r.W[s.bh:][:g3]
	s.project(r, s.gates, bx, x.Data[x.Origin:], x.Sample, steps*n)
	for t := range steps {
		recur := s.recur[t*n*g3:][:n*g3]
		if t > 0 {
			s.step(r, recur, bh, s.h[(t-1)*n*hp:], n)
		} else {
			for i := range n {
				copy(recur[i*g3:], bh)
			}
		}
		for i := range n {
			v := s.row(s.gates, s.recur, s.h, t, n, i)
			both := s.gates[(t*n+i)*g3:][:2*hp] // r and z
			kernels.Add(both, both, recur[i*g3:][:2*hp])
			kernels.Sigmoid(both, both)
			kernels.Mul(v.h, v.r, v.an)
			kernels.Add(v.n, v.n, v.h)
			kernels.Tanh(v.n, v.n)
			if v.prev == nil {
				kernels.Mul(v.h, v.z, v.n)
				kernels.Sub(v.h, v.n, v.h)
				continue
			}
			kernels.Sub(v.h, v.prev, v.n)
			kernels.Mul(v.h, v.z, v.h)
			kernels.Add(v.h, v.n, v.h)
		}
	}
	first := steps - 1 // of the steps that the layer gives
	if s.b.l.EveryStep {
		first = 0
	}
	copy(s.out.Data, s.h[first*n*hp:steps*n*hp])
	return s.out
}

func (s *gruState) Backward(r *Run, dy Act, _, _ int) Act {
	steps, hp, n := s.b.in.Seq, s.b.hp, r.N
	g3 := 3 * hp
	first := steps - 1
	if s.b.l.EveryStep {
		first = 0
	}
	clear(s.dh[:first*n*hp])
	copy(s.dh[first*n*hp:steps*n*hp], dy.Data[dy.Origin:])
	s.turn(r)
	for t := steps - 1; t >= 0; t-- {
		for i := range n {
			s.backwardRow(t, n, i)
		}
		if t > 0 {
			s.back(s.dh[(t-1)*n*hp:], s.recur[t*n*g3:], n, true)
		}
	}
	s.sums(r, s.gates, s.recur)
	s.weights(r, s.x.Data[s.x.Origin:], s.x.Sample, s.h, s.gates, s.recur, steps*n, n)
	if s.needDX {
		s.input(s.dx.Data[s.dx.Origin:], s.dx.Sample, s.gates, steps*n)
	}
	return s.dx
}

// backwardRow replaces the activations of row i of step t by the gradients of what the
// products gave, and adds what goes by z to the gradient of the step before.
func (s *gruState) backwardRow(t, n, i int) {
	hp := s.b.hp
	at := (t*n + i) * hp
	v, dh := s.row(s.gates, s.recur, s.h, t, n, i), s.dh[at:][:hp]
	kernels.Mul(s.keep, dh, v.z)
	kernels.Sub(s.dn, dh, s.keep)
	if v.prev != nil {
		kernels.Sub(s.dz, v.prev, v.n)
		kernels.Mul(s.dz, s.dz, dh)
		back := s.dh[at-n*hp:][:hp]
		kernels.Add(back, back, s.keep)
	} else {
		kernels.Mul(s.dz, v.n, dh)
		kernels.Scale(s.dz, -1)
	}
	kernels.Mul(s.keep, s.dn, v.n) // times the slope 1 - n²
	kernels.Mul(s.keep, s.keep, v.n)
	kernels.Sub(v.n, s.dn, s.keep)
	kernels.Mul(s.dr, v.n, v.an)
	kernels.Mul(v.an, v.n, v.r)
	kernels.Mul(s.dz, s.dz, v.z) // times z (1 - z)
	kernels.Mul(s.keep, s.dz, v.z)
	kernels.Sub(v.z, s.dz, s.keep)
	kernels.Mul(s.dr, s.dr, v.r)
	kernels.Mul(s.keep, s.dr, v.r)
	kernels.Sub(v.r, s.dr, s.keep)
	copy(v.ar, v.r)
	copy(v.az, v.z)
}

// sums adds the gradient of the biases.
func (s *gruState) sums(r *Run, gates, recur []float32) {
	g3, m := 3*s.b.hp, s.b.in.Seq*r.N
	for _, p := range []struct {
		at   int
		rows []float32
	}{{s.bx, gates}, {s.bh, recur}} {
		bias := r.G[p.at:][:g3]
		if r.Starts(0) {
			clear(bias)
		}
		kernels.ColSum(bias, p.rows, m, g3, g3)
	}
}
