package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// Tied gives an output for each token of the network's input: the product of what the
// layers before give with the token's row of the embedding, which must be the first
// layer and have rows of that width (Press and Wolf 2017). It has no parameters of its
// own; those of the embedding get the gradient of both.
type Tied struct {
	vocab int // of the network's input
	table Embedding
}

// Kind returns "tied".
func (Tied) Kind() string { return "tied" }

// Abilities returns what the layer can do.
func (l Tied) Abilities() Abilities {
	return Abilities{
		Narrow: Narrowing.Follow,
		Torch: func(t *Torch) {
			t.Set("F.linear(%s, %s.weight)", t.X, t.Shared["embedding"])
			t.Flat = t.In.Seq == 0
		},
		tied: func(vocab int, first Layer) Layer {
			l.vocab = vocab
			l.table, _ = unnamed(first).(Embedding)
			return l
		},
	}
}

// Bind fixes the layer for its input.
func (l Tied) Bind(in Flow) (Bound, error) {
	switch {
	case l.vocab < 1 || l.table.Dim < 1:
		return nil, errors.New("the first layer of a network whose outputs are tied must be an embedding")
	case l.table.ZeroPadding:
		return nil, errors.New("an embedding whose token 0 is a row of zeros cannot be tied")
	case in.Image() || in.C != l.table.Dim || in.Raw || in.Vocab > 0:
		return nil, fmt.Errorf("the previous layer gives %s, the embedding has rows of %d; they must be equal", values(in), l.table.Dim)
	}
	return &boundTied{l: l, in: in, t: tensor.Dense{K: in.Ld(), N: kernels.Pad(l.vocab)}}, nil
}

type boundTied struct {
	l  Tied
	in Flow
	t  tensor.Dense
}

func (b *boundTied) Out() Flow { return Flow{H: 1, W: 1, C: b.l.vocab, Seq: b.in.Seq, Lead: b.in.Lead} }

func (b *boundTied) Params() []Param { return nil }

func (b *boundTied) Traits() Traits { return Traits{ReadsInput: true} }

func (b *boundTied) FLOPs() int64 {
	return 2 * int64(b.in.Rows(1)) * int64(b.in.C) * int64(b.l.vocab)
}

func (b *boundTied) NewState(e *Env) State {
	n := b.t.K * b.t.N
	s := &tiedState{
		b: b, table: e.first.(*embeddingState), y: e.Output(), dx: e.Gradient(),
		w: e.Arena.Alloc(n), grad: e.Arena.Alloc(n), rows: e.Arena.Alloc(n), other: e.Arena.Alloc(n), bias: e.Arena.Alloc(b.t.N),
		lanes: e.Arena.Alloc(b.t.LaneSize(b.in.Rows(e.Samples))),
	}
	s.table.tied = s
	return s
}

// tiedState is the layer in one workspace. It keeps a copy of the table as a dense
// layer has it, made with the first samples of every batch, and its gradient.
type tiedState struct {
	b           *boundTied
	table       *embeddingState
	x, y, dx    Act
	w, grad     []float32 // packed
	rows, other []float32 // a table by rows, and packed
	bias, lanes []float32 // zeros; scratch of the input's gradient
}

func (s *tiedState) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	t := s.b.t
	if r.loads(0) {
		kernels.Pack(s.other, r.W[s.table.lo:s.table.hi], s.b.l.vocab, t.K, t.K)
		kernels.PackT(s.w, t.K, s.other, s.b.l.vocab, s.b.l.vocab, t.K)
	}
	t.Forward(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), s.w, s.bias, false)
	return s.y
}

func (s *tiedState) Backward(r *Run, dy Act, _, _ int) Act {
	t, rows, g := s.b.t, s.b.in.Rows(r.N), dy.At(0, 0, 0)
	t.BackwardWeights(s.grad, s.x.At(0, 0, 0), s.x.Sample, g, dy.Sample, rows, !r.Starts(0))
	t.BackwardInput(s.dx.Data, s.dx.Sample, g, dy.Sample, rows, s.w, s.lanes)
	return s.dx
}

// add adds the gradient of a batch to that of the table.
func (s *tiedState) add(grad []float32) {
	t := s.b.t
	kernels.PackT(s.other, t.N, s.grad, t.K, t.K, t.N)
	for p := 0; p < t.K; p += kernels.Width {
		kernels.Unpack(s.rows[p:], s.other[p*t.N:][:t.N*kernels.Width], t.N, kernels.Width, t.K)
	}
	kernels.Add(grad, grad, s.rows[:len(grad)])
}
