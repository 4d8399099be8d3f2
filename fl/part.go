package fl

import (
	"math/bits"
	"sync"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// part is what some of a round's clients have come to together: whole groups of
// neighbouring slots, added up. The parts of a round add up to the same bits however
// it is split.
type part struct {
	// Sum is the sum of weight_i (w - w_i), in the model's packed layout; Weight that
	// of the weights, Number that of weight_i n_i, see Update.Number; Taken counts
	// the clients that are in them.
	Sum            []float32
	Weight, Number float64
	Taken          int
	// Extra is the sum of Method.Gather, Signs that of weight_i sign(w - w_i)
	// where a probe asks for it; nil without.
	Extra, Signs []float32
	// Rows are the updates by slot from Lo on, nil for one that was left out, and RowWeights
	// their weights, where the server holds them and the part comes from another engine.
	Rows       [][]float32
	RowWeights []float64
	// Slots are the places of the cohort in which the clients are, measured, from
	// slot Lo of the round on.
	Slots []Slot
	Lo    int
}

// vectors are the part's sums that there are.
func (p *part) vectors() [][]float32 {
	return list.Where([][]float32{p.Sum, p.Extra, p.Signs}, func(v []float32) bool { return v != nil })
}

// add adds the clients of a part after this one.
func (p *part) add(o *part) {
	into := p.vectors()
	for i, v := range o.vectors() {
		kernels.Add(into[i], into[i], v)
	}
	p.Weight += o.Weight
	p.Number += o.Number
	p.Taken += o.Taken
}

// mean returns sum_i p_i (w - w_i), the server's pseudo-gradient, with p_i the
// shares of the weights that were taken, and sum_i p_i number_i. They are 0 when
// those were all 0; there must have been a result.
func (p *part) mean() (delta []float32, number float64) {
	if p.Weight == 0 {
		return p.Sum, 0
	}
	kernels.Scale(p.Sum, float32(1/p.Weight))
	return p.Sum, p.Number / p.Weight
}

// windowSlots is how many slots start in the order of their work: as many groups are
// open at once, each with its sums.
const windowSlots = 4 * shard.Group

// openSums bounds the sums of a round that are there at once.
func openSums(cohort int) int {
	groups := (cohort + shard.Group - 1) / shard.Group
	return min(groups, windowSlots/shard.Group+bits.Len(uint(groups)))
}

// tree adds up the leaves of a tree of sums, in whatever order they come.
type tree struct {
	leaves int
	free   func(*part) // takes one that was added to its neighbour

	mu      sync.Mutex
	waiting map[node]*part
	root    *part
}

// node is a place in the tree, by its height and its number at that.
type node struct{ height, at int }

func newTree(leaves int, free func(*part)) *tree {
	return &tree{leaves: leaves, free: free, waiting: map[node]*part{}}
}

// add adds a leaf, and whatever is complete by that.
func (t *tree) add(leaf int, p *part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := node{0, leaf}
	for width := t.leaves; width > 1; width = (width + 1) / 2 {
		if n.at|1 < width { // it has a neighbour
			beside := node{n.height, n.at ^ 1}
			other := t.waiting[beside]
			if other == nil {
				t.waiting[n] = p
				return
			}
			delete(t.waiting, beside)
			if beside.at < n.at {
				p, other = other, p
			}
			p.add(other)
			t.free(other)
		}
		n = node{n.height + 1, n.at / 2}
	}
	t.root = p
}

// release gives back all that is in the tree.
func (t *tree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.waiting {
		t.free(p)
	}
	if t.root != nil {
		t.free(t.root)
	}
	t.waiting, t.root = nil, nil
}
