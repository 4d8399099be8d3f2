package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// alongBlock is how many queries go through a head at a time.
const alongBlock = 64

// attentionAlong is multi-head self-attention with tangents in one workspace. Scores lie
// by queries. Queries, keys and values of a sample's head are copied out of the rows of
// all samples, together where the products want them.
type attentionAlong struct {
	attentionParts
	alongHead
	along alongHead // its tangents
}

// alongHead is what attention needs for one head of one sample.
type alongHead struct {
	query, values, keys []float32 // by steps, and twice packed
	keysT, valuesT      []float32 // packed by columns
	shares, dShares     []float32 // of a block of queries
	block               []float32 // outputs, or their gradients, of a block of queries
	dQuery              []float32
	dKeys, dValues      []float32 // packed
}

func (b *boundAttention) newAlong(e *Env) State {
	return &attentionAlong{b.newParts(e), b.newHead(e), b.newHead(e)}
}

// newHead makes room for one head.
func (b *boundAttention) newHead(e *Env) (s alongHead) {
	steps, width := b.in.Seq, kernels.Pad(b.size)
	most := min(alongBlock, steps)
	for _, m := range []*[]float32{&s.query, &s.values, &s.keys, &s.dKeys, &s.dValues} {
		*m = e.Arena.Alloc(steps * width)
	}
	for _, m := range []*[]float32{&s.keysT, &s.valuesT} {
		*m = e.Arena.Alloc(kernels.Pad(steps) * width)
	}
	for _, m := range []*[]float32{&s.shares, &s.dShares} {
		*m = e.Arena.Alloc(most * kernels.Pad(steps))
	}
	for _, m := range []*[]float32{&s.block, &s.dQuery} {
		*m = e.Arena.Alloc(most * width)
	}
	return s
}

func (s *attentionAlong) Forward(r *Run, x Act, lo, hi int) Act {
	s.rows = s.project.Forward(r, x, lo, hi)
	steps, width, size := s.b.in.Seq, kernels.Pad(s.b.size), s.b.size
	for i := range r.N {
		s.hide(r, i)
		for h := range s.b.l.Heads {
			s.load(&s.alongHead, s.rows, r, i, h)
			s.load(&s.along, s.rows.Tangent(), r, i, h)
			for q := 0; q < steps; q += alongBlock {
				n := min(alongBlock, steps-q)
				keys := s.share(q, n)
				kernels.GemmNN(&kernels.NN{M: n, N: width, K: keys, A: s.shares, Lda: kernels.Pad(steps), B: s.values, BRows: steps, C: s.block, Ldc: width})
				kernels.CopyRows(s.heads.At(q*r.N+i, 0, 0)[h*size:], r.N*s.heads.Sample, s.block, width, n, size)
				s.forwardTangents(q, n, keys)
				kernels.CopyRows(s.heads.Tangent().At(q*r.N+i, 0, 0)[h*size:], r.N*s.heads.Sample, s.along.block, width, n, size)
			}
		}
	}
	return s.out.Forward(r, s.heads, lo, hi)
}

// load copies the queries, times the scale of the softmax, the keys and the values of
// head h of sample i from rows, all times the factor of the layer.
func (s *attentionAlong) load(to *alongHead, rows Act, r *Run, i, h int) {
	steps, size, width := s.b.in.Seq, s.b.size, kernels.Pad(s.b.size)
	row := rows.At(i, 0, 0)[h*size:]
	ld, c := r.N*rows.Sample, s.b.in.C
	kernels.CopyRows(to.query, width, row, ld, steps, size)
	kernels.Pack(to.keys, row[c:], steps, size, ld)
	kernels.Pack(to.values, row[2*c:], steps, size, ld)
	kernels.Scale(to.query, s.scale(r))
	if f := s.factor(r); f != 1 {
		kernels.Scale(to.keys, f)
		kernels.Scale(to.values, f)
	}
	kernels.PackT(to.keysT, width, to.keys, steps, steps, size)
}

// scale is what queries are multiplied by: for the softmax, and by the factor.
func (s *attentionAlong) scale(r *Run) float32 {
	return float32(1/math.Sqrt(float64(s.b.size))) * s.factor(r)
}

// share computes the shares that n queries from step q on have in the keys of all
// steps, and returns how many of these they can see.
func (s *attentionAlong) share(q, n int) (keys int) {
	steps, width := s.b.in.Seq, kernels.Pad(s.b.size)
	ld := kernels.Pad(steps)
	keys = steps
	if s.b.l.Causal {
		keys = q + n
	}
	kernels.GemmNN(&kernels.NN{M: n, N: kernels.Pad(keys), K: s.b.size, A: s.query[q*width:], Lda: width, B: s.keysT, BRows: width, C: s.shares, Ldc: ld})
	for t := range n {
		row, seen := s.shares[t*ld:][:kernels.Pad(keys)], keys
		if s.b.l.Causal {
			seen = q + t + 1
			clear(row[seen:])
		}
		if s.mask(row[:seen]) {
			kernels.SoftmaxRows(row, len(row), 1, seen)
		} else {
			clear(row)
		}
	}
	return keys
}

// mask leaves the hidden steps of row out of the softmax, and reports whether others
// are left.
func (s *attentionAlong) mask(row []float32) bool {
	if s.hidden == nil {
		return true
	}
	left := false
	for t := range row {
		if s.hidden[t] {
			row[t] = float32(math.Inf(-1))
		} else {
			left = true
		}
	}
	return left
}

func (s *attentionAlong) Backward(r *Run, dy Act, lo, hi int) Act {
	d := s.out.Backward(r, dy, lo, hi)
	for i := range r.N {
		s.hide(r, i)
		for h := range s.b.l.Heads {
			s.open(&s.alongHead, s.rows, r, i, h)
			s.open(&s.along, s.rows.Tangent(), r, i, h)
			for q := 0; q < s.b.in.Seq; q += alongBlock {
				n := min(alongBlock, s.b.in.Seq-q)
				s.take(&s.alongHead, d, r, i, h, q, n)
				s.take(&s.along, d.Tangent(), r, i, h, q, n)
				s.backwardBlock(r, q, n)
				s.put(&s.along, s.rows.Tangent(), r, i, h, q, n)
				s.put(&s.alongHead, s.rows, r, i, h, q, n)
			}
			s.close(&s.alongHead, s.rows, r, i, h)
			s.close(&s.along, s.rows.Tangent(), r, i, h)
		}
	}
	return s.project.Backward(r, s.rows, lo, hi)
}

// open makes a head ready for the backward pass of head h of sample i.
func (s *attentionAlong) open(to *alongHead, rows Act, r *Run, i, h int) {
	s.load(to, rows, r, i, h)
	steps, size := s.b.in.Seq, s.b.size
	kernels.PackT(to.valuesT, kernels.Pad(size), to.values, steps, steps, size)
	clear(to.dKeys)
	clear(to.dValues)
}

// take copies the gradients of the outputs of n steps from q on.
func (s *attentionAlong) take(to *alongHead, d Act, r *Run, i, h, q, n int) {
	size := s.b.size
	kernels.CopyRows(to.block, kernels.Pad(size), d.At(q*r.N+i, 0, 0)[h*size:], r.N*d.Sample, n, size)
}

// put leaves the gradients of n queries from step q on in rows.
func (s *attentionAlong) put(from *alongHead, rows Act, r *Run, i, h, q, n int) {
	size := s.b.size
	kernels.CopyRows(rows.At(q*r.N+i, 0, 0)[h*size:], r.N*rows.Sample, from.dQuery, kernels.Pad(size), n, size)
}

// close leaves the gradients of keys and values in rows.
func (s *attentionAlong) close(from *alongHead, rows Act, r *Run, i, h int) {
	steps, size, c, ld := s.b.in.Seq, s.b.size, s.b.in.C, r.N*rows.Sample
	row := rows.At(i, 0, 0)[h*size:]
	if f := s.factor(r); f != 1 {
		kernels.Scale(from.dKeys, f)
		kernels.Scale(from.dValues, f)
	}
	kernels.Unpack(row[c:], from.dKeys, steps, size, ld)
	kernels.Unpack(row[2*c:], from.dValues, steps, size, ld)
}

// backwardBlock computes the gradient of n queries from step q on, whose outputs'
// gradients are in block, and adds to those of keys and values.
func (s *attentionAlong) backwardBlock(r *Run, q, n int) {
	steps, width := s.b.in.Seq, kernels.Pad(s.b.size)
	ld := kernels.Pad(steps)
	keys := s.share(q, n)
	kernels.GemmTN(&kernels.TN{M: n, K: keys, N: width, A: s.shares, Lda: ld, G: s.block, Ldg: width, C: s.dValues, CRows: steps, Accumulate: true})
	kernels.GemmNN(&kernels.NN{M: n, N: kernels.Pad(keys), K: s.b.size, A: s.block, Lda: width, B: s.valuesT, BRows: width, C: s.dShares, Ldc: ld})
	s.shareTangents(q, n, keys)
	s.slopeTangents(n, keys)
	kernels.SoftmaxBackward(s.dShares, s.shares, ld, n, kernels.Pad(keys))
	kernels.GemmTN(&kernels.TN{M: n, K: keys, N: width, A: s.dShares, Lda: ld, G: s.query[q*width:], Ldg: width, C: s.dKeys, CRows: steps, Accumulate: true})
	kernels.GemmNN(&kernels.NN{M: n, N: width, K: keys, A: s.dShares, Lda: ld, B: s.keys, BRows: steps, C: s.dQuery, Ldc: width})
	kernels.Scale(s.dQuery[:n*width], s.scale(r))
	s.blockTangents(r, q, n, keys)
}
