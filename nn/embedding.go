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

func (b *boundEmbedding) Out() Flow {
	return Flow{H: 1, W: 1, C: b.l.Dim, Seq: b.in.Seq}
}

func (b *boundEmbedding) Traits() Traits { return Traits{} }

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
	return &embeddingState{seq: b.in.Seq, ld: ld, first: int32(first), lo: e.Offset, hi: e.Offset + b.in.Vocab*ld, out: e.Output()}
}

type embeddingState struct {
	seq, ld int
	first   int32 // smallest token that has a row of its own
	lo, hi  int   // place of the table in the parameters
	out     Act
}

// Forward gathers the rows, time-major.
func (s *embeddingState) Forward(r *Run, _ Act, _, _ int) Act {
	table := r.W[s.lo:s.hi]
	for i := range r.N {
		for t, token := range r.Tokens[i*s.seq:][:s.seq] {
			to := s.out.Data[(t*r.N+i)*s.ld:][:s.ld]
			if token == 0 && s.first == 1 {
				clear(to)
				continue
			}
			copy(to, table[int(token)*s.ld:][:s.ld])
		}
	}
	return s.out
}

// Backward adds each row's gradient to its token's, in the order of the rows.
func (s *embeddingState) Backward(r *Run, dy Act, _, _ int) Act {
	grad := r.G[s.lo:s.hi]
	if r.Starts(0) {
		clear(grad)
	}
	for t := range s.seq {
		for i := range r.N {
			token := r.Tokens[i*s.seq+t]
			if token < s.first {
				continue
			}
			g := grad[int(token)*s.ld:][:s.ld]
			for k, v := range dy.Data[(t*r.N+i)*dy.Sample:][:s.ld] {
				g[k] += v
			}
		}
	}
	return Act{}
}
