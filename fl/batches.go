package fl

import (
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Batches deals out a client's training examples, or its validation examples, in
// shuffled batches.
type Batches struct {
	l      *Local
	view   data.View
	val    bool // these are validation examples
	params ClientParams
	order  []int32 // of the pass
	rest   []int32 // of the pass, not yet dealt
	begun  bool    // there was a pass
	pos    []int32 // a batch that runs over the end of a pass
	left   float64 // passes that are not yet begun
	aug    data.Augment
	last   []int32 // what Next read
	visit  *visit  // images that were read, nil where none are kept
}

// Batches deals the training examples out by p: a client takes p.LocalSteps of its
// number of examples. Batches with different numbers, 0, 1, ..., are drawn
// independently and can be used side by side.
func (l *Local) Batches(number int, p ClientParams) *Batches {
	b := l.batches(number, p, l.Train)
	b.visit = l.visit(p)
	if b.left = p.Epochs; p.Steps > 0 {
		b.left = math.Inf(1)
	}
	return b
}

// ValBatches deals the validation examples out in the same way, without end. Their
// number is one that no Batches have.
func (l *Local) ValBatches(number int, p ClientParams) *Batches {
	b := l.batches(number, p, l.Val)
	b.val = true
	return b
}

func (l *Local) batches(number int, p ClientParams, v data.View) *Batches {
	n, w := v.Len(), l.worker
	for len(w.pass) <= number {
		w.pass = append(w.pass, nil)
	}
	w.pass[number] = grown(w.pass[number], n)
	return &Batches{l: l, view: v, params: p, order: w.pass[number], pos: w.order, left: math.Inf(1), aug: data.Augment{Key: kernels.Key(l.key, purposeAugment)}}
}

// Next reads the next batch, which is valid until another one is read, and counts
// its training examples and a training step's operations on them.
func (b *Batches) Next() (*nn.Batch, error) {
	b.last = b.next()
	b.count(b.last)
	if b.visit == nil {
		return b.Read(b.view, b.last)
	}
	w := b.l.worker
	batch := w.sized(len(b.last))
	err := b.visit.fill(w, b.view, b.last, &b.aug)
	b.l.flip(batch)
	return batch, err
}

// count counts the examples of a batch and a training step's operations on them.
func (b *Batches) count(batch []int32) {
	if !b.val {
		b.l.Examples += len(batch)
	}
	b.l.Again(len(batch))
}

// Positions returns those of the batch that Next read last, in its view. They
// are valid until the call of Next after it.
func (b *Batches) Positions() []int32 { return b.last }

// Read reads examples of a view of the client's as Next does, with the same
// augmentation, and counts nothing.
func (b *Batches) Read(v data.View, pos []int32) (*nn.Batch, error) {
	batch, err := b.l.worker.fill(v, pos, &b.aug)
	if err == nil {
		b.l.flip(batch)
	}
	return batch, err
}

// next returns the positions of the next batch, valid until the call after.
func (b *Batches) next() []int32 {
	size := b.params.Batch
	if !b.params.Wrap {
		if len(b.rest) == 0 || b.begun && len(b.rest) < size && !b.val && b.params.Drops(b.view.Len()) {
			b.shuffle()
			b.begun = true
			if n := b.view.Len(); b.left < 1 {
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
func (b *Batches) shuffle() {
	for i := range b.order {
		b.order[i] = int32(i)
	}
	kernels.NewStream(kernels.Key(b.l.key, purposeShuffle), b.l.passes).Shuffle(b.order)
	b.l.passes++
	b.rest = b.order
}
