package nn

import (
	"math/bits"

	"github.com/fedfast/fedfast/kernels"
)

// embeddingState is an embedding in one workspace. A batch uses few rows of the
// table: the others' gradient stays zero from step to step and is not read.
type embeddingState struct {
	seq, ld int
	first   int32 // smallest token that has a row of its own
	lo, hi  int   // place of the table in the parameters
	out     Act
	tied    *tiedState // of the layer that makes outputs by the table, or nil

	used []uint64 // a bit for each token whose row has a gradient
	zero bool     // the gradient is zero, as an update left it
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
		if !s.zero {
			clear(grad)
		}
		s.zero = false
		clear(s.used)
	}
	for t := range s.seq {
		for i := range r.N {
			token := r.Tokens[i*s.seq+t]
			if token < s.first {
				continue
			}
			g := grad[int(token)*s.ld:][:s.ld]
			kernels.Add(g, g, dy.Data[(t*r.N+i)*dy.Sample:][:s.ld])
			s.used[token/64] |= 1 << (token % 64)
		}
	}
	if s.tied != nil && r.last {
		s.tied.add(grad)
	}
	if r.update != nil {
		s.update(r.W, grad, r.update)
	}
	return Act{}
}

// update updates the table. A row without a gradient stays as it is unless
// momentum, weight decay or the proximal term move it.
func (s *embeddingState) update(w, grad []float32, u *update) {
	if !u.plain() || s.tied != nil {
		u.apply(w, grad, s.lo)
		return
	}
	at, moves := 0, u.Momentum != 0 || u.WeightDecay != 0 || u.Mu != 0
	for i, word := range s.used {
		for ; word != 0; word &= word - 1 {
			row := (64*i + bits.TrailingZeros64(word)) * s.ld
			if moves {
				u.drift(w, s.lo+at, s.lo+row)
			}
			at = row + s.ld
			u.apply(w, grad[row:at], s.lo+row)
			clear(grad[row:at])
		}
	}
	if moves {
		u.drift(w, s.lo+at, s.hi)
	}
	s.zero = true
}
