package fl

import (
	"math/bits"

	"github.com/fedfast/fedfast/kernels"
)

// noiseBlock is how many numbers a stream of noise has, so that workers share them.
const noiseBlock = 4096

// addNoise adds Gaussian noise of a key to each trained parameter, in the order of the
// model's usual layout, and takes that of other keys off; the padding of its memory gets none.
func addNoise(e *Engine, sum []float32, deviation float64, key uint64, off ...uint64) error {
	if deviation == 0 {
		return nil
	}
	return e.pool.run((len(e.places())+noiseBlock-1)/noiseBlock, func(i int, _ *worker) error {
		e.addBlock(sum, i, deviation, key, off)
		return nil
	})
}

// addBlock adds a block of what addNoise does.
func (e *Engine) addBlock(sum []float32, block int, deviation float64, key uint64, off []uint64) {
	places := e.places()
	places = places[block*noiseBlock : min((block+1)*noiseBlock, len(places))]
	g := newGauss(key, uint64(block))
	if len(off) == 0 {
		for _, at := range places {
			sum[at] += float32(deviation * g.next())
		}
		return
	}
	others := make([]gauss, len(off))
	for i, key := range off {
		others[i] = newGauss(key, uint64(block))
	}
	for _, at := range places {
		x := g.next()
		for i := range others {
			x -= others[i].next()
		}
		sum[at] += float32(deviation * x)
	}
}

// release clips and noises what a client sends to a server that it does not trust. One whose
// change is not finite, or of no weight, sends noise alone, so that this does not show.
func (e *Engine) release(c *contribution, norm, clip float64, key uint64) {
	if bound := clip * shrink; c.weight <= 0 {
		clear(c.delta)
	} else if norm > bound {
		kernels.Scale(c.delta, float32(bound/norm))
	}
	c.weight, c.scale = 1, 0
	e.addAll(c.delta, float64(e.cfg.Privacy.Noise*clip), key)
}

// addAll does what addNoise does, in the goroutine of a worker.
func (e *Engine) addAll(sum []float32, deviation float64, key uint64) {
	if deviation == 0 {
		return
	}
	for i := range (len(e.places()) + noiseBlock - 1) / noiseBlock {
		e.addBlock(sum, i, deviation, key, nil)
	}
}

// treeNoise returns the keys of the noise by which the sum of a round has that of a tree more
// than the sum of the round before, on the sums of all rounds so far (Kairouz et al. 2021,
// arXiv 2103.00039, without the estimator of Honaker): a node of the tree ends with the round,
// and those that it covers are taken off. Each pass over the clients begins a tree.
func (t *Trial) treeNoise() (key uint64, off []uint64) {
	c := &t.engine.cfg
	rounds := len(c.Data.Clients) / c.Cohort
	tree, end := t.round/rounds, t.round%rounds+1
	node := func(level, end int) uint64 {
		return kernels.Key(c.Seed, uint64(t.number), purposeTree, uint64(tree), uint64(level), uint64(end))
	}
	level := bits.TrailingZeros(uint(end))
	for below := range level {
		off = append(off, node(below, end-1<<below))
	}
	return node(level, end), off
}
