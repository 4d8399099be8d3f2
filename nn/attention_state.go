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

// attentionSpace is what attention needs for one sample, within scratch memory.
type attentionSpace struct {
	sample, dSample matrix // queries, keys and values of a sample, and their gradients
	given           matrix // what its heads give, or the gradient of that
	across, down    matrix // keys and values in pairs of neighbours and of steps; in float32 those of sample

	query, slope             []float32 // of a head, packed: queries, and the gradient of what it gives
	queryT, slopeT           []float32 // transposed, packed
	queryDown, slopeDown     []float32 // in pairs of steps; in float32 query and slope
	shares, dShares          matrix    // scores of a block of queries, then their shares, and the gradients of these
	sharesAcross, sharesDown matrix    // either of them in pairs of queries and of keys; in float32 not used
	outT, packed             []float32 // what a block of queries gets, transposed and not
	whole                    [2]matrix // gradients of keys and values of a head whose size is no multiple of 16
	panel                    []float32
}

// matrix is rows of floats.
type matrix struct {
	data []float32
	ld   int
}

func (m matrix) at(row, column int) []float32 { return m.data[row*m.ld+column:] }

// apart returns how far apart rows of n floats are best: an odd number of lines, so that
// no two of them meet in one set of a cache.
func apart(n int) int { return kernels.Pad(n) | kernels.Width }

func (b *boundAttention) NewState(e *Env) State {
	if e.Tangents {
		return b.newAlong(e)
	}
	s := &attentionState{b: b}
	first, second := *e, *e
	first.out, first.outBorder, first.shareOut = b.project.Out(), Border{}, 0
	s.project = b.project.NewState(&first)
	second.Offset += b.project.t.K*b.project.t.N + b.project.t.N
	second.in, second.NeedDX, second.gradBorder, second.shareGrad = b.in, true, Border{}, 0
	s.out = b.out.NewState(&second)
	s.heads = newAct(e.Arena, b.in, e.Samples, Border{}, 0, false)
	s.stats = e.Arena.Alloc(e.Samples * b.stats())
	if b.l.MaskPadding {
		s.hidden = make([]bool, b.in.Seq)
	}
	s.scratch = e.Scratch(b.divide(&attentionSpace{}, nil))
	return s
}

// stats returns the floats of a sample in attentionState.stats.
func (b *boundAttention) stats() int { return 2 * b.l.Heads * kernels.Pad(b.in.Seq) }

// depth returns how many terms a sum over n has: pairs in bf16.
func (b *boundAttention) depth(n int) int {
	if b.l.bf16 {
		return tensor.PairedRows(n)
	}
	return n
}

// wide returns the columns that packed queries have.
func (b *boundAttention) wide() int {
	if b.l.bf16 { // pairs of panels
		return (b.size + 2*kernels.Width - 1) &^ (2*kernels.Width - 1)
	}
	return kernels.Pad(b.size)
}

// divide gives s its parts of memory, and returns how much they need; without memory it
// does only this.
func (b *boundAttention) divide(s *attentionSpace, memory []float32) int {
	used := 0
	take := func(n int) []float32 {
		used += kernels.Pad(n)
		if memory == nil {
			return nil
		}
		return memory[used-kernels.Pad(n) : used]
	}
	rows := func(n, columns int) matrix {
		ld := apart(columns)
		return matrix{take(n * ld), ld}
	}
	steps, width, wide := b.in.Seq, kernels.Pad(b.size), b.wide()
	all, block := kernels.Pad(steps), min(queryBlock, kernels.Pad(steps))
	s.sample, s.dSample, s.given = rows(steps, 3*b.in.C), rows(all, 3*b.in.C), rows(all, b.in.C)
	s.query, s.slope = take(steps*wide), take(steps*wide)
	s.queryT, s.slopeT = take(all*b.depth(wide)), take(all*b.depth(wide))
	s.shares, s.dShares = rows(steps, block), rows(steps, block)
	s.outT, s.packed = take(block*width), take(block*width)
	if b.size%kernels.Width > 0 {
		s.whole = [2]matrix{rows(steps, width), rows(steps, width)}
	}
	if !b.l.bf16 {
		s.across, s.down, s.queryDown, s.slopeDown = s.sample, s.sample, s.query, s.slope
		return used
	}
	s.across, s.down = rows(steps, b.l.Heads*2*b.depth(b.size)), rows(b.depth(steps), 2*b.in.C)
	s.queryDown, s.slopeDown = take(b.depth(steps)*wide), take(b.depth(steps)*wide)
	s.sharesAcross = matrix{take(steps * s.shares.ld / 2), s.shares.ld / 2}
	s.sharesDown = rows(b.depth(steps), block)
	s.panel = take(steps * kernels.Width)
	return used
}

// The places of a head's keys and values in a row of across and of down.
func (s *attentionState) keysAcross(h int) int   { return s.column(h, 0, s.b.depth(s.b.size)) }
func (s *attentionState) valuesAcross(h int) int { return s.column(h, 1, s.b.depth(s.b.size)) }
func (s *attentionState) keysDown(h int) int     { return s.column(h, 0, s.b.size) }
func (s *attentionState) valuesDown(h int) int   { return s.column(h, 1, s.b.size) }

func (s *attentionState) column(h, part, size int) int {
	if !s.b.l.bf16 {
		part++ // behind the queries
	}
	return (part*s.b.l.Heads + h) * size
}

func (s *attentionState) Forward(r *Run, x Act, lo, hi int) Act {
	s.rows = s.project.Forward(r, x, lo, hi)
	s.b.divide(&s.attentionSpace, s.scratch.floats)
	steps, c := s.b.in.Seq, s.b.in.C
	for i := range r.N {
		s.hide(r, i)
		s.load(r, i, false)
		for h := range s.b.l.Heads {
			s.loadQueries(h)
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

// hide finds the steps of sample i that nobody sees.
func (s *attentionState) hide(r *Run, i int) {
	for t := range s.hidden {
		s.hidden[t] = r.Tokens[i*len(s.hidden)+t] == 0
	}
}

// load copies the queries, keys and values of sample i, times the factor of the layer,
// and rounds keys and values for the forward pass, or also for the backward one.
func (s *attentionState) load(r *Run, i int, backward bool) {
	steps, c, to := s.b.in.Seq, s.b.in.C, s.sample
	kernels.CopyRows(to.data, to.ld, s.rows.At(i, 0, 0), r.N*s.rows.Sample, steps, 3*c)
	if f := s.factor(r); f != 1 {
		kernels.Scale(to.data, f)
	}
	if !s.b.l.bf16 {
		return
	}
	for t := range steps {
		s.pairChannels(t, 0)
		if backward {
			s.pairChannels(t, 1)
		}
	}
	first := 1
	if backward {
		first = 0
	}
	p := kernels.PairRows{
		Rows: s.b.depth(steps), N: (2 - first) * c, Src: to.data[(1+first)*c:], Step: 2 * to.ld, Other: to.ld, Single: steps%2 > 0,
		Dst: s.down.data[first*c:], Ld: s.down.ld,
	}
	p.Run()
}

// pairChannels makes pairs of neighbours in the keys, or with part 1 the values, of step
// t, of each head by itself.
func (s *attentionState) pairChannels(t, part int) {
	heads, size, c := s.b.l.Heads, s.b.size, s.b.in.C
	if size%2 == 0 {
		kernels.RoundPairs(s.across.at(t, part*c/2), s.sample.at(t, (1+part)*c)[:c])
		return
	}
	for h := range heads {
		kernels.RoundPairs(s.across.at(t, (part*heads+h)*s.b.depth(size)), s.sample.at(t, (1+part)*c+h*size)[:size])
	}
}

// loadQueries packs the queries of head h, times the scale of the softmax.
func (s *attentionState) loadQueries(h int) {
	s.pack(s.query, s.queryT, s.queryDown, s.sample.at(0, h*s.b.size), s.sample.ld, float32(1/math.Sqrt(float64(s.b.size))))
}

// pack packs a head of rows, times factor: as it is, transposed, and in pairs of steps.
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
	tensor.PairWeights(down, to, steps, wide)
	tensor.TurnPairs(turned, to, steps, wide, s.panel)
}

// factor is the layer's in training, else 1.
func (s *attentionState) factor(r *Run) float32 {
	if s.b.l.factor == 0 || !r.Train {
		return 1
	}
	return s.b.l.factor
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
	s.loadQueries(h)
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
