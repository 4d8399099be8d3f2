package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// squeezeTangents holds the tangents of a squeeze-and-excitation's buffers, laid out
// like them. The slope of the hard sigmoid has none.
type squeezeTangents struct {
	means, hidden, gate    []float32 // of each sample
	dGate, dHidden, dMeans []float32 // of one sample
	other                  []float64 // sums over an image of its channels
	spare                  []float32 // one of two parts of a layer's input
	part                   Act       // one of two parts of an image
}

func newSqueezeTangents(b *boundSqueeze, e *Env) *squeezeTangents {
	ld, units := b.in.Ld(), kernels.Pad(b.l.Units)
	a := e.Arena
	return &squeezeTangents{
		means: a.Alloc(e.Samples * ld), hidden: a.Alloc(e.Samples * units), gate: a.Alloc(e.Samples * ld),
		dGate: a.Alloc(ld), dHidden: a.Alloc(units), dMeans: a.Alloc(ld), spare: a.Alloc(max(units, ld)),
		other: make([]float64, ld), part: newAct(a, b.in, 1, Border{}, 1, false),
	}
}

// scaled computes the image y = x * gate + shift of channels.
func (s *squeezeState) scaled(y Act, i int, x Act, j int, gate, shift []float32) {
	n := &s.norm
	n.X, n.XRow, n.Y, n.YRow = x.At(j, 0, 0), x.Row, y.At(i, 0, 0), y.Row
	n.Value, n.Shift = gate, shift
	kernels.NormForward(n)
}

// forwardTangents computes the tangents of sample i: dx * gate + x * dgate, where those
// of a dense layer come from its weights and its input.
func (s *squeezeState) forwardTangents(r *Run, i int) {
	b, t := s.b, s.tangents
	ld, units := b.in.Ld(), b.down.N
	means, hidden, gate := t.means[i*ld:][:ld], t.hidden[i*units:][:units], t.gate[i*ld:][:ld]
	x := s.x.Tangent()
	clear(means)
	for y := range b.in.H {
		kernels.ColSum(means, x.At(i, y, 0), b.in.W, ld, ld)
	}
	kernels.Scale(means, 1/float32(b.in.H*b.in.W))
	b.down.Forward(hidden, units, s.means[i*ld:][:ld], ld, 1, r.V[s.w1:s.b1], r.V[s.b1:s.w2], false)
	b.down.Add(hidden, units, means, ld, 1, r.W[s.w1:s.b1])
	was := s.hidden[i*units:][:units]
	kernels.ReLUBackward(hidden, hidden, was)
	b.up.Forward(gate, ld, was, units, 1, r.V[s.w2:s.b2], r.V[s.b2:s.end], false)
	b.up.Add(gate, ld, hidden, units, 1, r.W[s.w2:s.b2])
	kernels.Mul(gate, gate, s.slope[i*ld:][:ld])
	y := s.y.Tangent()
	s.scaled(y, i, x, i, s.gate[i*ld:][:ld], s.zero)
	s.scaled(t.part, 0, s.x, i, gate, s.zero)
	addImage(y, i, t.part, 0, b.in)
}

// sumProduct adds up v*x over image i for each channel.
func (s *squeezeState) sumProduct(v, x Act, i int) []float64 {
	n := &s.norm
	n.X, n.XRow, n.Y, n.YRow = x.At(i, 0, 0), x.Row, v.At(i, 0, 0), v.Row
	kernels.NormSums(n)
	return n.Inner
}

// backwardTangents is Backward for the tangents of the gradients of sample i; that of
// the input itself is computed, too.
func (s *squeezeState) backwardTangents(r *Run, dy Act, i int) {
	b, t, add := s.b, s.tangents, !r.Starts(i)
	ld, units := b.in.Ld(), b.down.N
	dGate, dHidden, dMeans := s.dGate[:ld], s.dHidden[:units], s.dMeans[:ld]
	x, along := s.x.Tangent(), dy.Tangent()
	slope := s.slope[i*ld:][:ld]
	copy(t.other, s.sumProduct(along, s.x, i))
	for c, v := range s.sumProduct(dy, x, i)[:b.in.C] {
		t.dGate[c] = float32(t.other[c]+v) * slope[c]
	}
	for c, v := range s.sumProduct(dy, s.x, i)[:b.in.C] {
		dGate[c] = float32(v) * slope[c]
	}
	hidden := s.hidden[i*units:][:units]
	s.backTangents(r, b.up, s.w2, [2][]float32{dHidden, t.dHidden}, [2][]float32{hidden, t.hidden[i*units:]}, [2][]float32{dGate, t.dGate}, add)
	kernels.ReLUBackward(dHidden, dHidden, hidden)
	kernels.ReLUBackward(t.dHidden, t.dHidden, hidden)
	s.backTangents(r, b.down, s.w1, [2][]float32{dMeans, t.dMeans}, [2][]float32{s.means[i*ld:], t.means[i*ld:]}, [2][]float32{dHidden, t.dHidden}, add)
	if s.dx.Data == nil {
		return
	}
	for _, d := range [][]float32{dMeans, t.dMeans} {
		kernels.Scale(d, 1/float32(b.in.H*b.in.W))
	}
	dx, gate := s.dx.Tangent(), s.gate[i*ld:][:ld]
	s.scaled(s.dx, i, dy, i, gate, dMeans)
	s.scaled(dx, i, along, i, gate, t.dMeans)
	s.scaled(t.part, 0, dy, i, t.gate[i*ld:][:ld], s.zero)
	addImage(dx, i, t.part, 0, b.in)
}

// backTangents is the backward pass of one of the two layers, whose biases follow its
// weights, at w in the parameters. dx, x and dy are each a value and its tangent.
func (s *squeezeState) backTangents(r *Run, d tensor.Dense, w int, dx, x, dy [2][]float32, add bool) {
	end := w + d.K*d.N
	gw := r.G[w:end]
	d.BackwardBias(r.G[end:][:d.N], dy[1], d.N, 1, add)
	k := kernels.Pad(d.K)
	d.BackwardWeights(gw, x[0], k, dy[1], d.N, 1, add)
	d.BackwardWeights(gw, x[1], k, dy[0], d.N, 1, true)
	part := s.tangents.spare[:k]
	d.BackwardInput(dx[0], k, dy[0], d.N, 1, r.W[w:end], s.lanes)
	d.BackwardInput(dx[1], k, dy[1], d.N, 1, r.W[w:end], s.lanes)
	d.BackwardInput(part, k, dy[0], d.N, 1, r.V[w:end], s.lanes)
	kernels.Add(dx[1][:k], dx[1][:k], part)
}
