package fl

import (
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// The purposes of random draws, the last part of their key, so that no two keys
// are equal. Never renumber them.
const (
	purposeInit uint64 = iota + 1
	purposeCohort
	purposeShuffle
	purposeDropout
	purposeAugment
	purposeTest
	purposeSample
)

// Local is one client's local training, the argument of Method.Local.
type Local struct {
	// Params are the client's hyperparameters.
	Params ClientParams
	// Train holds the client's training examples.
	Train data.View
	// Broadcast holds the weights that the server sent; read-only.
	Broadcast []float32
	// Weights hold the broadcast weights before and the client's after.
	Weights []float32

	// Steps counts the local steps taken, Examples the training examples
	// processed.
	Steps, Examples int
	// Loss is the sum of the training losses over the Labels processed, each
	// taken before its step.
	Loss   float64
	Labels int

	worker *worker
	key    uint64 // of this visit: seed, trial, round, slot, client
	passes uint64
}

// SGD runs the client's local steps by SGD with momentum, weight decay and a
// proximal term of weight mu that pulls towards the broadcast weights. The
// training examples are shuffled anew for each pass.
func (l *Local) SGD(mu float64) {
	p := l.Params
	sgd := nn.SGD{LR: float32(p.LR), Momentum: float32(p.Momentum), WeightDecay: float32(p.WeightDecay), Mu: float32(mu)}
	var velocity, anchor []float32
	if p.Momentum != 0 {
		velocity = l.worker.velocity
	}
	if mu != 0 {
		anchor = l.Broadcast
	}
	opts := nn.TrainOpts{Key: kernels.Key(l.key, purposeDropout), Dropout: float32(p.Dropout)}
	aug := &data.Augment{Key: kernels.Key(l.key, purposeAugment)}
	batches := l.newBatches()
	for step := range p.LocalSteps(l.Train.Len()) {
		pos := batches.next()
		opts.Step = uint32(step)
		r := l.worker.ws.Step(l.Weights, l.worker.fill(l.Train, pos, aug), opts, sgd, velocity, anchor, step == 0)
		l.Steps++
		l.Examples += len(pos)
		l.Loss += r.Loss
		l.Labels += r.Count
	}
}

// batches deals out the positions of the training examples.
type batches struct {
	l     *Local
	order []int32 // of the pass
	rest  []int32 // of the pass, not yet dealt
	pos   []int32 // a batch that runs over the end of a pass
	left  float64 // passes that are not yet begun
}

func (l *Local) newBatches() *batches {
	n := l.Train.Len()
	l.worker.pass = grown(l.worker.pass, n)
	b := &batches{l: l, order: l.worker.pass, pos: l.worker.order, left: l.Params.Epochs}
	if l.Params.Steps > 0 {
		b.left = math.Inf(1)
	}
	return b
}

// next returns the positions of the next batch, valid until the call after.
func (b *batches) next() []int32 {
	size := b.l.Params.Batch
	if !b.l.Params.Wrap {
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

// train runs Loc_c for one client in the worker's own weights.
func (w *worker) train(m Method, client *data.Client, params ClientParams, broadcast []float32, key uint64) *Local {
	copy(w.local, broadcast)
	l := &Local{Params: params, Train: client.Train, Broadcast: broadcast, Weights: w.local, worker: w, key: key}
	m.Local(l)
	return l
}
