package nn

import "github.com/fedfast/fedfast/kernels"

// lstmState holds the activations of one chunk. Every buffer is time-major: step
// t of n samples takes rows t*n to (t+1)*n, packed to the front when n is less
// than the samples it was made for.
type lstmState struct {
	b       *boundLSTM
	index   int
	needDX  bool
	layers  []lstmLayer
	x       Act       // input of the first layer
	dc      []float32 // gradient of c at the step at work, n x hp
	out, dx Act
}

// lstmLayer is one layer of the stack.
type lstmLayer struct {
	recurrent
	bx, bh      int       // offsets of the biases; bh is -1 if there is one
	bias        []float32 // sum of all biases
	gates       []float32 // activated, then their gradient, seq x n x 4hp
	c, tanhc, h []float32 // seq x n x hp
	dh          []float32 // gradient of h
	dropped     []float32 // h after dropout, the next layer's input; nil for the last
}

func (b *boundLSTM) NewState(e *Env) State {
	hp, rows := b.hp, b.in.Seq*e.Samples
	s := &lstmState{
		b: b, index: e.Index, needDX: e.NeedDX,
		dc:  e.Arena.Alloc(e.Samples * hp),
		out: e.Output(),
	}
	s.dx = e.Gradient()
	at := e.Offset
	for i := range b.l.Layers {
		width, ld := b.inputs(i)
		l := lstmLayer{
			recurrent: newRecurrent(e, at, rows, width, ld, b.l.Hidden, 4, i > 0 || e.NeedDX, b.l.bf16, b.l.amx),
			bias:      e.Arena.Alloc(4 * hp),
			gates:     e.Arena.Alloc(rows * 4 * hp),
			c:         e.Arena.Alloc(rows * hp),
			tanhc:     e.Arena.Alloc(rows * hp),
			h:         e.Arena.Alloc(rows * hp),
			dh:        e.Arena.Alloc(rows * hp),
		}
		l.bx, l.bh = l.biases, -1
		at = l.bx + 4*hp
		if !b.l.OneBias {
			l.bh = at
			at += 4 * hp
		}
		if b.l.Droppable && i+1 < b.l.Layers {
			l.dropped = e.Arena.Alloc(rows * hp)
		}
		s.layers = append(s.layers, l)
	}
	return s
}

func (s *lstmState) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	in, ld := x.Data[x.Origin:], x.Sample
	steps, hp := s.b.in.Seq, s.b.hp
	for i := range s.layers {
		l := &s.layers[i]
		l.forward(r, in, ld, steps, hp, s.b.l)
		in, ld = l.h, hp
		if s.drops(r, i) {
			in = l.dropped
			s.drop(r, i, in, l.h)
		}
	}
	h, n := s.layers[len(s.layers)-1].h, r.N*hp
	if s.b.l.EveryStep {
		copy(s.out.Data, h[:steps*n])
	} else {
		copy(s.out.Data, h[(steps-1)*n:steps*n])
	}
	return s.out
}

// drops reports whether values of layer i's output are dropped in this pass.
func (s *lstmState) drops(r *Run, i int) bool {
	return s.layers[i].dropped != nil && r.Rate(s.b.l.Dropout) > 0
}

// drop writes src after the dropout that follows layer i to dst, which may be
// src; the backward pass is the same. As in Dropout, every row is a stream of
// draws of its own.
func (s *lstmState) drop(r *Run, i int, dst, src []float32) {
	hp, p := s.b.hp, r.Rate(s.b.l.Dropout)
	key := kernels.Key(r.Key, uint64(s.index), uint64(i))
	for t := range s.b.in.Seq {
		for j := range r.N {
			at := (t*r.N + j) * hp
			kernels.Dropout(dst[at:at+hp], src[at:at+hp], p, key, uint64(r.Base+j)<<32|uint64(t))
		}
	}
}

// forward runs one layer over all steps.
func (l *lstmLayer) forward(r *Run, x []float32, ldx, steps, hp int, d LSTM) {
	n, g4 := r.N, 4*hp
	bias := l.bias
	copy(bias, r.W[l.bx:][:g4])
	if l.bh >= 0 {
		kernels.Add(bias, bias, r.W[l.bh:][:g4])
	}
	if d.ForgetBias != 0 {
		for u := range d.Hidden {
			bias[gateRow(1, u, 0, 1)] += d.ForgetBias
		}
	}
	l.project(r, l.gates, bias, x, ldx, steps*n)
	for t := range steps {
		gates, at, to := l.gates[t*n*g4:][:n*g4], t*n*hp, (t+1)*n*hp
		cell := kernels.LSTM{M: n, H: hp, Gates: gates, C: l.c[at:to], TanhC: l.tanhc[at:to], HOut: l.h[at:to], Ldh: hp}
		if t > 0 {
			l.step(r, gates, nil, l.h[at-n*hp:at], n)
			cell.CPrev = l.c[at-n*hp : at]
		}
		kernels.LSTMForward(&cell)
	}
}

func (s *lstmState) Backward(r *Run, dy Act, _, _ int) Act {
	steps, hp, n := s.b.in.Seq, s.b.hp, r.N
	top := len(s.layers) - 1
	dh := s.layers[top].dh[:steps*n*hp]
	if !s.b.l.EveryStep {
		dh = dh[(steps-1)*n*hp:]
	}
	copy(dh, dy.Data[dy.Origin:])
	for i := top; i >= 0; i-- {
		l := &s.layers[i]
		s.through(r, l, i < top || s.b.l.EveryStep)
		x, ldx := s.x.Data[s.x.Origin:], s.x.Sample
		if i > 0 {
			x, ldx = s.layers[i-1].h, hp
			if s.drops(r, i-1) {
				x = s.layers[i-1].dropped
			}
		}
		l.weights(r, x, ldx, l.h, l.gates, l.gates, steps*n, n)
		if i > 0 {
			below := &s.layers[i-1]
			l.input(below.dh, hp, l.gates, steps*n)
			if s.drops(r, i-1) {
				s.drop(r, i-1, below.dh, below.dh)
			}
		} else if s.needDX {
			l.input(s.dx.Data[s.dx.Origin:], s.dx.Sample, l.gates, steps*n)
		}
	}
	return s.dx
}

// through runs a layer's steps backwards, from dh to the gradient of the gates,
// which replaces them, and adds the biases' gradient. dh holds what comes from
// the layer above, at every step or at the last one only.
func (s *lstmState) through(r *Run, l *lstmLayer, every bool) {
	steps, hp, n := s.b.in.Seq, s.b.hp, r.N
	g4 := 4 * hp
	l.turn(r)
	dc, bias := s.dc[:n*hp], r.G[l.bx:][:g4]
	clear(dc)
	if r.Starts(0) {
		clear(bias)
	}
	for t := steps - 1; t >= 0; t-- {
		at, to := t*n*hp, (t+1)*n*hp
		if t+1 < steps {
			l.back(l.dh[at:to], l.gates[(t+1)*n*g4:], n, every)
		}
		gates := l.gates[t*n*g4:][:n*g4]
		cell := kernels.LSTMGrad{M: n, H: hp, Gates: gates, TanhC: l.tanhc[at:to], DH: l.dh[at:to], Ldh: hp, DC: dc, DGates: gates}
		if t > 0 {
			cell.CPrev = l.c[at-n*hp : at]
		}
		kernels.LSTMBackward(&cell)
		kernels.ColSum(bias, gates, n, g4, g4) // while they are in the cache
	}
	if l.bh >= 0 {
		copy(r.G[l.bh:][:g4], bias)
	}
}
