package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
)

func (s *attentionState) Backward(r *Run, dy Act, lo, hi int) Act {
	d := s.out.Backward(r, dy, lo, hi)
	s.b.divide(&s.attentionSpace, s.scratch.floats)
	steps, c := s.b.in.Seq, s.b.in.C
	for i := range r.N {
		s.hide(r, i)
		s.load(r, i, true)
		kernels.CopyRows(s.given.data, s.given.ld, d.At(i, 0, 0), r.N*d.Sample, steps, c)
		for h := range s.b.l.Heads {
			s.backwardHead(i, h)
		}
		if f := s.factor(r); f != 1 {
			kernels.Scale(s.dSample.data, f)
		}
		kernels.CopyRows(s.rows.At(i, 0, 0), r.N*s.rows.Sample, s.dSample.data, s.dSample.ld, steps, 3*c)
	}
	return s.project.Backward(r, s.rows, lo, hi)
}

// backwardHead computes the gradients of queries, keys and values of head h of sample i.
func (s *attentionState) backwardHead(i, h int) {
	steps, size := s.b.in.Seq, s.b.size
	s.loadQueries(h, s.queryDown)
	s.pack(s.slope, s.slopeT, s.slopeDown, s.given.at(0, h*size), s.given.ld, 1)
	for q := 0; q < steps; q += queryBlock {
		n := min(queryBlock, steps-q)
		columns := s.score(i, h, q, n)
		s.multiply(s.dShares, s.valuesAcross(h), s.slopeT, q, n)
		columns.Backward(s.dShares.data, s.dShares.ld)
		s.scatter(1, h, s.shares, s.slopeDown, q, n)
		s.scatter(0, h, s.dShares, s.queryDown, q, n)
		s.pairKeys(s.dShares)
		s.gather(s.keysDown(h), s.dShares, q, n)
		kernels.Scale(s.packed[:kernels.Pad(n)*kernels.Pad(size)], float32(1/math.Sqrt(float64(size))))
		kernels.Unpack(s.dSample.at(q, h*size), s.packed, kernels.Pad(n), size, s.dSample.ld)
	}
}

// scatter adds to the gradients of head h's keys, or with part 1 its values, the sum over
// n queries from step q on of m times down, queries or gradients in pairs of steps.
func (s *attentionState) scatter(part, h int, m matrix, down []float32, q, n int) {
	steps, size, width := s.b.in.Seq, s.b.size, kernels.Pad(s.b.size)
	place, from := matrix{s.dSample.at(0, (1+part)*s.b.in.C+h*size), s.dSample.ld}, m
	to := place
	if size%kernels.Width > 0 {
		to = s.whole[part]
	}
	if s.b.l.bf16 {
		from = s.sharesAcross
		kernels.RoundPairs(from.data, m.data[:s.seen(q, n)*m.ld])
	}
	step := steps
	if s.b.l.Causal {
		step = kernels.Width
	}
	for k := 0; k < s.seen(q, n); k += step {
		first, before := 0, q > 0
		if s.b.l.Causal { // queries before do not see key k
			first, before = max(k-q, 0), k < q
		}
		kernels.GemmNN(&kernels.NN{
			M: min(step, steps-k), N: width, K: s.b.depth(n - first), A: from.at(k, s.b.depth(first)), Lda: from.ld,
			B: down[s.b.depth(q+first)*kernels.Width:], BRows: s.b.depth(steps), C: to.at(k, 0), Ldc: to.ld, Accumulate: before, BF16: s.b.l.bf16,
		})
	}
	if size%kernels.Width > 0 && q+n == steps {
		kernels.CopyRows(place.data, place.ld, to.data, to.ld, steps, size)
	}
}
