package fl

import (
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// batches deals out the positions of the training examples.
type batches struct {
	l      *Local
	params ClientParams
	order  []int32 // of the pass
	rest   []int32 // of the pass, not yet dealt
	pos    []int32 // a batch that runs over the end of a pass
	left   float64 // passes that are not yet begun
	aug    data.Augment
	last   []int32 // what fill read
}

// newBatches deals the training examples out by p. Batches with different numbers
// are independent and can be used side by side.
func (l *Local) newBatches(number int, p ClientParams) *batches {
	n, w := l.Train.Len(), l.worker
	for len(w.pass) <= number {
		w.pass = append(w.pass, nil)
	}
	w.pass[number] = grown(w.pass[number], n)
	b := &batches{l: l, params: p, order: w.pass[number], pos: w.order, left: p.Epochs, aug: data.Augment{Key: kernels.Key(l.key, purposeAugment)}}
	if p.Steps > 0 {
		b.left = math.Inf(1)
	}
	return b
}

// fill reads the next batch into the worker's memory and counts its examples.
func (b *batches) fill() *nn.Batch {
	pos := b.next()
	b.last = pos
	b.l.Examples += len(pos)
	b.l.flops += float64(len(pos)) * b.l.exampleFLOPs
	return b.l.worker.fill(b.l.Train, pos, &b.aug)
}

// next returns the positions of the next batch, valid until the call after.
func (b *batches) next() []int32 {
	size := b.params.Batch
	if !b.params.Wrap {
		if len(b.rest) == 0 {
			b.shuffle()
			if n := b.l.Train.Len(); b.left < 1 {
				part := int(math.Ceil(b.left * float64(n)))
				b.rest = b.rest[:max(1, min(n, part))]
			}
			b.left--
		}
		k := min(size, len(b.rest))
		batch := b.rest[:k]
		b.rest = b.rest[k:]
		return batch
	}
	b.pos = b.pos[:0]
	for len(b.pos) < size {
		if len(b.rest) == 0 {
			b.shuffle()
		}
		k := min(size-len(b.pos), len(b.rest))
		b.pos = append(b.pos, b.rest[:k]...)
		b.rest = b.rest[k:]
	}
	b.l.worker.order = b.pos // keeps what it grew to
	return b.pos
}

// shuffle begins a new pass in a new order.
func (b *batches) shuffle() {
	for i := range b.order {
		b.order[i] = int32(i)
	}
	kernels.NewStream(kernels.Key(b.l.key, purposeShuffle), b.l.passes).Shuffle(b.order)
	b.l.passes++
	b.rest = b.order
}
