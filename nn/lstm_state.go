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
	width, ld   int            // of the input
	wx, wh      int            // offsets in the parameters
	bx, bh      int            // bh is -1 if there is one bias
	bias        []float32      // sum of all biases
	gates       []float32      // activated, then their gradient, seq x n x 4hp
	c, tanhc, h []float32      // seq x n x hp
	dh          []float32      // gradient of h
	dropped     []float32      // h after dropout, the next layer's input; nil for the last
	wxT, whT    []float32      // transposed for the backward pass, in fp32
	bf16        *recurrentBF16 // nil in fp32
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
	next := func(rows int) int {
		at += rows * 4 * hp
		return at - rows*4*hp
	}
	for i := range b.l.Layers {
		width, ld := b.inputs(i)
		l := lstmLayer{
			width: width, ld: ld,
			wx: next(width), wh: next(b.l.Hidden), bx: next(1), bh: -1,
			bias:  e.Arena.Alloc(4 * hp),
			gates: e.Arena.Alloc(rows * 4 * hp),
			c:     e.Arena.Alloc(rows * hp),
			tanhc: e.Arena.Alloc(rows * hp),
			h:     e.Arena.Alloc(rows * hp),
			dh:    e.Arena.Alloc(rows * hp),
		}
		if !b.l.OneBias {
			l.bh = next(1)
		}
		input := i > 0 || e.NeedDX
		if b.l.bf16 {
			l.bf16 = newRecurrentBF16(e, rows, width, ld, b.l.Hidden, 4, input)
		} else {
			l.whT = e.Arena.Alloc(4 * hp * hp)
		}
		if input && !b.l.bf16 {
			l.wxT = e.Arena.Alloc(4 * hp * kernels.Pad(width))
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
	if l.bf16 != nil {
		l.bf16.load(r, l.wx, l.wh)
		l.bf16.project(l.gates, bias, x, steps*n)
	} else {
		kernels.GemmNN(&kernels.NN{M: steps * n, N: g4, K: l.width, A: x, Lda: ldx, B: r.W[l.wx:], Bias: bias, C: l.gates, Ldc: g4})
	}
	for t := range steps {
		gates, at, to := l.gates[t*n*g4:][:n*g4], t*n*hp, (t+1)*n*hp
		cell := kernels.LSTM{M: n, H: hp, Gates: gates, C: l.c[at:to], TanhC: l.tanhc[at:to], HOut: l.h[at:to], Ldh: hp}
		if t > 0 {
			if h := l.h[at-n*hp : at]; l.bf16 != nil {
				l.bf16.step(gates, nil, h, n)
			} else {
				kernels.GemmNN(&kernels.NN{M: n, N: g4, K: d.Hidden, A: h, Lda: hp, B: r.W[l.wh:], C: gates, Ldc: g4, Accumulate: true})
			}
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
		s.weights(r, l, x, ldx)
		if i > 0 {
			below := &s.layers[i-1]
			s.input(l, n, below.dh, hp)
			if s.drops(r, i-1) {
				s.drop(r, i-1, below.dh, below.dh)
			}
		} else if s.needDX {
			s.input(l, n, s.dx.Data[s.dx.Origin:], s.dx.Sample)
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
	switch {
	case r.Base > 0: // the weights change from batch to batch only
	case l.bf16 != nil:
		l.bf16.turn(r, l.wx, l.wh)
	default:
		kernels.PackT(l.whT, g4, r.W[l.wh:], s.b.l.Hidden, s.b.l.Hidden, g4)
		if l.wxT != nil {
			kernels.PackT(l.wxT, g4, r.W[l.wx:], l.width, l.width, g4)
		}
	}
	dc, bias := s.dc[:n*hp], r.G[l.bx:][:g4]
	clear(dc)
	if r.Starts(0) {
		clear(bias)
	}
	for t := steps - 1; t >= 0; t-- {
		at, to := t*n*hp, (t+1)*n*hp
		switch {
		case t+1 == steps:
		case l.bf16 != nil:
			l.bf16.back(l.dh[at:to], (t+1)*n, n, every)
		default:
			kernels.GemmNN(&kernels.NN{M: n, N: hp, K: g4, A: l.gates[(t+1)*n*g4:], Lda: g4, B: l.whT, C: l.dh[at:to], Ldc: hp, Accumulate: every})
		}
		gates := l.gates[t*n*g4:][:n*g4]
		cell := kernels.LSTMGrad{M: n, H: hp, Gates: gates, TanhC: l.tanhc[at:to], DH: l.dh[at:to], Ldh: hp, DC: dc, DGates: gates}
		if t > 0 {
			cell.CPrev = l.c[at-n*hp : at]
		}
		kernels.LSTMBackward(&cell)
		kernels.ColSum(bias, gates, n, g4, g4) // while they are in the cache
		if l.bf16 != nil {
			kernels.RoundPairs(l.bf16.gates[t*n*g4/2:], gates)
		}
	}
	if l.bh >= 0 {
		copy(r.G[l.bh:][:g4], bias)
	}
}

// weights adds the gradient of a layer's weights, each by one product over the
// rows of all steps.
func (s *lstmState) weights(r *Run, l *lstmLayer, x []float32, ldx int) {
	steps, hp, n := s.b.in.Seq, s.b.hp, r.N
	g4, hidden, add := 4*hp, s.b.l.Hidden, !r.Starts(0)
	if l.bf16 != nil {
		l.bf16.weights(r.G[l.wx:], r.G[l.wh:], x, l.h, l.gates, l.gates, steps*n, n, add)
		return
	}
	kernels.GemmTN(&kernels.TN{M: steps * n, K: l.width, N: g4, A: x, Lda: ldx, G: l.gates, Ldg: g4, C: r.G[l.wx:], Accumulate: add})
	kernels.GemmTN(&kernels.TN{M: (steps - 1) * n, K: hidden, N: g4, A: l.h, Lda: hp, G: l.gates[n*g4:], Ldg: g4, C: r.G[l.wh:], Accumulate: add})
}

// input computes the gradient of a layer's input.
func (s *lstmState) input(l *lstmLayer, n int, dx []float32, ld int) {
	g4 := 4 * s.b.hp
	if l.bf16 != nil {
		l.bf16.input(s.b.in.Seq*n, dx, ld)
		return
	}
	kernels.GemmNN(&kernels.NN{M: s.b.in.Seq * n, N: kernels.Pad(l.width), K: g4, A: l.gates, Lda: g4, B: l.wxT, C: dx, Ldc: ld})
}
