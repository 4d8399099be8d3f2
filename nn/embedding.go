package nn

import (
	"errors"

	"github.com/fedfast/fedfast/kernels"
)

// Embedding turns each token of the network's input into a row of a learned
// table of Vocab x Dim. A token below 0 or from Vocab on makes the pass panic.
type Embedding struct {
	Dim int
	// ZeroPadding makes token 0 stand for padding: its row is zero and is not
	// trained.
	ZeroPadding bool
	// Init: PyTorch draws standard normals, TensorFlow Glorot uniform of
	// vocabulary and width, Haiku normals cut off at two deviations, Keras
	// uniform in +-0.05.
	Init Init
}

// Kind returns "embedding".
func (Embedding) Kind() string { return "embedding" }

// Abilities returns what the layer can do.
func (l Embedding) Abilities() Abilities {
	return Abilities{
		Init: func(i Init) Layer { l.Init = i; return l },
		Narrow: func(n Narrowing) (Narrowed, error) {
			l.Dim = n.Of(l.Dim)
			return n.Made(l, l.Dim)
		},
		Torch: func(t *Torch) {
			padding := ""
			if l.ZeroPadding {
				padding = ", padding_idx=0"
			}
			table := t.Module("nn.Embedding(%d, %d%s)", t.In.Vocab, l.Dim, padding)
			t.Writer.Line("tokens = " + t.X)
			t.Set("%s(tokens)", table)
			t.Shared["embedding"] = table
		},
	}
}

// Bind fixes the layer for a sequence of tokens.
func (l Embedding) Bind(in Flow) (Bound, error) {
	if in.Vocab < 1 {
		return nil, errors.New("an embedding must be the first layer, on an input of tokens")
	}
	if l.Dim < 1 {
		return nil, errors.New("the width of an embedding must be at least 1")
	}
	if err := l.Init.check(); err != nil {
		return nil, err
	}
	return &boundEmbedding{l: l, in: in}, nil
}

type boundEmbedding struct {
	l  Embedding
	in Flow
}

func (b *boundEmbedding) Out() Flow { return Flow{H: 1, W: 1, C: b.l.Dim, Seq: b.in.Seq} }

func (b *boundEmbedding) Traits() Traits { return Traits{updates: true} }

// FLOPs returns 0: a look-up computes nothing.
func (b *boundEmbedding) FLOPs() int64 { return 0 }

func (b *boundEmbedding) Params() []Param {
	vocab, dim, ld := b.in.Vocab, b.l.Dim, kernels.Pad(b.l.Dim)
	return []Param{{
		Name:  "weight",
		Shape: []int{vocab, dim},
		Size:  vocab * ld,
		Init: func(t []float32, s *kernels.Stream) {
			b.l.Init.embedding(t, vocab, dim, s)
			if b.l.ZeroPadding {
				clear(t[:dim])
			}
		},
		Pack: func(packed, t []float32) {
			for v := range vocab {
				copy(packed[v*ld:], t[v*dim:][:dim])
			}
			if b.l.ZeroPadding {
				clear(packed[:ld])
			}
		},
		Unpack: func(t, packed []float32) {
			for v := range vocab {
				copy(t[v*dim:][:dim], packed[v*ld:])
			}
		},
	}}
}

func (b *boundEmbedding) NewState(e *Env) State {
	ld := kernels.Pad(b.l.Dim)
	first := 0
	if b.l.ZeroPadding {
		first = 1
	}
	return &embeddingState{
		seq: b.in.Seq, ld: ld, first: int32(first), lo: e.Offset, hi: e.Offset + b.in.Vocab*ld, out: e.Output(),
		used: make([]uint64, (b.in.Vocab+63)/64),
	}
}
