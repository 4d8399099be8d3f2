package nn

import (
	"math"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

// queryBlock is how many queries go through a head at a time.
const queryBlock = 128

// attentionState is multi-head self-attention in one workspace. Scores lie by keys, with
// queries in the lanes: so the softmax needs no sums over lanes, keys and values are read
// where the rows of a sample have them, and what a causal head does not see is left out
// in steps of 16.
type attentionState struct {
	b            *boundAttention
	project, out State
	rows, heads  Act // queries, keys and values, then their gradients; and what the heads give
	hidden       []bool
	stats        []float32 // what the softmaxes of all samples' heads came to
	scratch      *scratch
	attentionSpace
}

func (b *boundAttention) NewState(e *Env) State {
	s := &attentionState{b: b}
	first, second := *e, *e
	first.out, first.outBorder, first.shareOut = b.project.Out(), Border{}, 0
	s.project = b.project.NewState(&first)
	second.Offset += b.project.t.K*b.project.t.N + b.project.t.N
	second.in, second.NeedDX, second.gradBorder, second.shareGrad = b.in, true, Border{}, 0
	s.out = b.out.NewState(&second)
	s.heads = newAct(e.Arena, b.in, e.Samples, Border{}, 0)
	if b.l.MaskPadding {
		s.hidden = make([]bool, b.in.Seq)
	}
	s.stats = e.Arena.Alloc(e.Samples * b.stats())
	s.scratch = e.Scratch(b.divide(&attentionSpace{}, nil))
	return s
}

// hide finds the steps of sample i that nobody sees.
func (s *attentionState) hide(r *Run, i int) {
	for t := range s.hidden {
		s.hidden[t] = !r.real(i, t-s.b.in.Lead)
	}
}

// factor is the layer's in training, else 1.
func (s *attentionState) factor(r *Run) float32 {
	if s.b.l.factor == 0 || !r.Train {
		return 1
	}
	return s.b.l.factor
}

func (s *attentionState) Forward(r *Run, x Act, lo, hi int) Act {
	s.rows = s.project.Forward(r, x, lo, hi)
	s.b.divide(&s.attentionSpace, s.scratch.floats)
	steps, c := s.b.in.Seq, s.b.in.C
	for i := range r.N {
		s.hide(r, i)
		s.load(r, i, false)
		for h := range s.b.l.Heads {
			s.loadQueries(h, nil)
			for q := 0; q < steps; q += queryBlock {
				n := min(queryBlock, steps-q)
				columns := s.score(i, h, q, n)
				columns.Softmax()
				s.pairKeys(s.shares)
				s.gather(s.valuesDown(h), s.shares, q, n)
				kernels.Unpack(s.given.at(q, h*s.b.size), s.packed, kernels.Pad(n), s.b.size, s.given.ld)
			}
		}
		kernels.CopyRows(s.heads.At(i, 0, 0), r.N*s.heads.Sample, s.given.data, s.given.ld, steps, c)
	}
	return s.out.Forward(r, s.heads, lo, hi)
}

// load copies the queries, keys and values of sample i, times the factor of the layer,
// and rounds keys and values for the forward pass, or also for the backward one.
func (s *attentionState) load(r *Run, i int, backward bool) {
	steps, c, to, f := s.b.in.Seq, s.b.in.C, s.sample, s.factor(r)
	if s.b.l.bf16 && r.N == 1 && f == 1 { // the rows follow one another as they are
		to = matrix{s.rows.At(i, 0, 0), s.rows.Sample}
		s.sample = to
	} else {
		kernels.CopyRows(to.data, to.ld, s.rows.At(i, 0, 0), r.N*s.rows.Sample, steps, 3*c)
	}
	if f != 1 {
		kernels.Scale(to.data, f)
	}
	if !s.b.l.bf16 {
		return
	}
	parts, down := 1, 1 // scores need keys across, what heads give values down
	if backward {
		parts, down = 2, 0
	}
	for t := range steps {
		s.pairChannels(t, parts)
	}
	p := kernels.PairRows{
		Rows: s.b.depth(steps), N: c, Src: to.data[(1+down)*c:], Step: 2 * to.ld, Other: to.ld, Single: steps%2 > 0,
		Dst: s.down.data[down*c:], Ld: s.down.ld,
	}
	p.Run()
}

// pairChannels makes pairs of neighbours in the keys, or with two parts also the values,
// of step t, of each head by itself.
func (s *attentionState) pairChannels(t, parts int) {
	size, c := s.b.size, s.b.in.C
	if size%2 == 0 {
		kernels.RoundPairs(s.across.at(t, 0), s.sample.at(t, c)[:parts*c])
		return
	}
	for h := range parts * s.b.l.Heads {
		kernels.RoundPairs(s.across.at(t, h*s.b.depth(size)), s.sample.at(t, c+h*size)[:size])
	}
}

// loadQueries packs the queries of head h, times the scale of the softmax; down is where
// pairs of steps of them go, or nil.
func (s *attentionState) loadQueries(h int, down []float32) {
	s.pack(s.query, s.queryT, down, s.sample.at(0, h*s.b.size), s.sample.ld, float32(1/math.Sqrt(float64(s.b.size))))
}

// pack packs a head of rows, times factor: as it is, transposed, and unless down is nil in
// pairs of steps.
func (s *attentionState) pack(to, turned, down, rows []float32, ld int, factor float32) {
	steps, size, wide := s.b.in.Seq, s.b.size, s.b.wide()
	kernels.Pack(to, rows, steps, size, ld)
	clear(to[steps*kernels.Pad(size) : steps*wide])
	if factor != 1 {
		kernels.Scale(to[:steps*wide], factor)
	}
	if !s.b.l.bf16 {
		kernels.PackT(turned, wide, to, steps, steps, size)
		return
	}
	if down != nil {
		tensor.PairWeights(down, to, steps, wide)
	}
	tensor.TurnPairs(turned, to, steps, wide, s.panel)
}

// score computes the scores that n queries from step q on have in sample i's keys, and
// returns the softmax that they are to go through.
func (s *attentionState) score(i, h, q, n int) kernels.Columns {
	steps, all := s.b.in.Seq, kernels.Pad(s.b.in.Seq)
	s.multiply(s.shares, s.keysAcross(h), s.queryT, q, n)
	for t, hidden := range s.hidden {
		if row := s.shares.at(t, 0)[:kernels.Pad(n)]; hidden {
			for j := range row {
				row[j] = float32(math.Inf(-1))
			}
		}
	}
	stats := s.stats[(i*s.b.l.Heads+h)*2*all:]
	return kernels.Columns{
		M: steps, N: kernels.Pad(n), X: s.shares.data, Ld: s.shares.ld, Causal: s.b.l.Causal, First: q,
		Largest: stats[q:all], Scale: stats[all+q:],
	}
}

// multiply computes products of the keys or values at column of across with n columns of
// turned from q on.
func (s *attentionState) multiply(to matrix, column int, turned []float32, q, n int) {
	depth, step := s.b.depth(s.b.wide()), s.step(n)
	for j := 0; j < n; j += step {
		kernels.GemmNN(&kernels.NN{
			M: s.seen(q+j, step), N: step, K: s.b.depth(s.b.size), A: s.across.at(0, column), Lda: s.across.ld,
			B: turned[(q+j)*depth:], BRows: depth, C: to.at(0, j), Ldc: to.ld, BF16: s.b.l.bf16,
		})
	}
}

// step returns how many of n queries are taken together: with a causal head, those that
// see about the same steps.
func (s *attentionState) step(n int) int {
	if s.b.l.Causal {
		return kernels.Width
	}
	return kernels.Pad(n)
}

// seen returns how many steps some of n queries from step q on can see.
func (s *attentionState) seen(q, n int) int {
	if s.b.l.Causal {
		return min(q+n, s.b.in.Seq)
	}
	return s.b.in.Seq
}

// pairKeys rounds shares, or their gradients, to pairs of keys in bf16.
func (s *attentionState) pairKeys(m matrix) {
	if !s.b.l.bf16 {
		return
	}
	steps := s.b.in.Seq
	p := kernels.PairRows{
		Rows: s.b.depth(steps), N: min(queryBlock, kernels.Pad(steps)), Src: m.data, Step: 2 * m.ld, Other: m.ld, Single: steps%2 > 0,
		Dst: s.sharesDown.data, Ld: s.sharesDown.ld,
	}
	p.Run()
}

// gather leaves in packed, for n queries from step q on, the sum over keys of m times
// the keys or values at column of down.
func (s *attentionState) gather(column int, m matrix, q, n int) {
	if s.b.l.bf16 {
		m = s.sharesDown
	}
	size, width, step := s.b.size, kernels.Pad(s.b.size), s.step(n)
	for j := 0; j < n; j += step {
		kernels.GemmTN(&kernels.TN{
			M: s.b.depth(s.seen(q+j, step)), K: size, N: step, A: s.down.at(0, column), Lda: s.down.ld,
			G: m.at(0, j), Ldg: m.ld, C: s.outT[j*width:], CRows: width, BF16: s.b.l.bf16,
		})
	}
	kernels.PackT(s.packed, kernels.Pad(n), s.outT, width, size, n)
}
