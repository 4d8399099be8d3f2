package nn

import (
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tensor"
)

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
		part++ // after the queries
	}
	return (part*s.b.l.Heads + h) * size
}
