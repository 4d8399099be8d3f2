package fl

import (
	"math/bits"
	"slices"
	"sort"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// noiseBlock is how many numbers a stream of noise has, so that workers share them.
const noiseBlock = 4096

// noiseOf is the Gaussian noise of a key, times a factor.
type noiseOf struct {
	key    uint64
	factor float64
}

// strip is a span of the packed weights whose parameters are all trained and sent, of which
// number come before it.
type strip struct{ lo, hi, number int }

// trainedStrips returns where places lie, ascending, each in the longest span.
func trainedStrips(size int, places []int32) (all []strip) {
	trained := make([]bool, size)
	for _, at := range places {
		trained[at] = true
	}
	number := 0
	for lo := 0; lo < size; lo++ {
		if !trained[lo] {
			continue
		}
		hi := lo + 1
		for hi < size && trained[hi] {
			hi++
		}
		all = append(all, strip{lo, hi, number})
		number += hi - lo
		lo = hi
	}
	return all
}

// addNoise adds noise to each trained parameter of a packed vector, in its order; the padding
// gets none.
func addNoise(e *Engine, sum []float32, of ...noiseOf) error {
	if !noisy(of) {
		return nil
	}
	return e.pool.run(e.noiseBlocks(), func(i int, _ *worker) error {
		e.addBlock(sum, i, of)
		return nil
	})
}

// noisy reports whether noise is not 0.
func noisy(of []noiseOf) bool {
	return slices.ContainsFunc(of, func(d noiseOf) bool { return d.factor != 0 })
}

// noiseBlocks returns how many blocks noise has.
func (e *Engine) noiseBlocks() int {
	strips := e.strips()
	if len(strips) == 0 {
		return 0
	}
	last := strips[len(strips)-1]
	return (last.number + last.hi - last.lo + noiseBlock - 1) / noiseBlock
}

// addBlock adds a block of what addNoise does.
func (e *Engine) addBlock(sum []float32, block int, of []noiseOf) {
	from, strips := block*noiseBlock, e.strips()
	first := sort.Search(len(strips), func(i int) bool { return strips[i].number > from }) - 1
	var g Noise
	for _, d := range of {
		g.seed(d.key, uint64(block))
		lo, left := strips[first].lo+from-strips[first].number, noiseBlock
		for i := first; left > 0 && i < len(strips); i++ {
			lo = max(lo, strips[i].lo)
			to := sum[lo:min(lo+left, strips[i].hi)]
			g.add(to, float32(d.factor))
			left -= len(to)
		}
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
	e.addAll(c.delta, noiseOf{key, e.cfg.Privacy.Noise * clip})
}

// addAll does what addNoise does, in the goroutine of a worker.
func (e *Engine) addAll(sum []float32, of ...noiseOf) {
	if !noisy(of) {
		return
	}
	for i := range e.noiseBlocks() {
		e.addBlock(sum, i, of)
	}
}

// treeNoise returns the noise by which the sum of a round has that of a tree more than the sum
// of the round before, on the sums of all rounds so far (Kairouz et al. 2021, arXiv
// 2103.00039): a node of the tree ends with the round, and those that it covers are taken off.
// Each pass over the clients begins a tree. The noise of a node is the noise of its best estimate
// from itself and all nodes below it (Honaker 2015), whose variance falls from 1 at a leaf
// towards 1/2.
func (t *Trial) treeNoise(deviation float64) []noiseOf {
	c := &t.engine.cfg
	rounds := len(c.Data.Clients) / c.Cohort
	tree, end := t.round/rounds, t.round%rounds+1
	at := map[uint64]int{}
	var all []noiseOf
	var add func(level, end int, factor float64)
	add = func(level, end int, factor float64) {
		own := 1.0 // the weight of the node itself
		if level > 0 {
			below := 2 * estimateVariance(level-1) // of the estimate from the halves
			own = below / (1 + below)
			add(level-1, end, factor*(1-own))
			add(level-1, end-1<<(level-1), factor*(1-own))
		}
		key := kernels.Key(c.Seed, uint64(t.number), purposeTree, uint64(tree), uint64(level), uint64(end))
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key], all = i, append(all, noiseOf{key: key})
		}
		all[i].factor += float64(factor * own)
	}
	level := bits.TrailingZeros(uint(end))
	add(level, end, deviation)
	for below := range level {
		add(below, end-1<<below, -deviation)
	}
	return all
}

// estimateVariance returns the variance of the estimate of a node from itself and all nodes
// below it, over that of a node.
func estimateVariance(level int) float64 {
	v := 1.0
	for range level {
		v = 2 * v / (1 + 2*v)
	}
	return v
}

// The streams of a round's private groups.
const (
	groupDraw uint64 = iota
	groupNoise
)

// PrivateSlots returns, for each client of a round's Cohort, which of slots planned ones it
// takes. Cohorts of a fixed size take their own. Of a Poisson cohort each client draws one by
// itself, so that neither how many came nor who shows in what another one takes.
func (e *Engine) PrivateSlots(trial, round, slots int) []int {
	cohort := e.Cohort(trial, round)
	taken := make([]int, len(cohort))
	for i, client := range cohort {
		if taken[i] = i; e.cfg.Poisson {
			taken[i] = kernels.NewStream(e.groupKey(trial, round, client), groupDraw).IntN(slots)
		}
	}
	return taken
}

// PrivateErrors returns a private error for each planned slot of a round: of slots that
// planned the same, whose numbers in group are equal, the mean error of the clients that took
// one of them, with Gaussian noise on the sum of their errors less 1/2, divided by the number
// of the slots. taken and errors have a client's slot and error, NaN of one that has none.
func (e *Engine) PrivateErrors(trial, round int, group, taken []int, errors []float64, noise float64) []float64 {
	groups := slices.Max(group) + 1
	sums, sizes := make([]float64, groups), make([]int, groups)
	for _, g := range group {
		sizes[g]++
	}
	for i, slot := range taken {
		if errors[i] == errors[i] {
			sums[group[slot]] += centered(errors[i])
		}
	}
	noisy := NewNoise(e.groupKey(trial, round, -1), groupNoise)
	for g, n := range sizes {
		sums[g] = ScoreOptions{Noise: noise, Expected: n}.private(sums[g], noisy).Error
	}
	return list.Of(group, func(g int) float64 { return sums[g] })
}

// groupKey keys the draws of a round's client, or with -1 of the round.
func (e *Engine) groupKey(trial, round, client int) uint64 {
	return kernels.Key(e.cfg.Seed, uint64(trial), uint64(round), uint64(client+1), purposeGroups)
}
