package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
)

// Places tells where the parameters of a network lie in its packed vector, and those of
// its sub-networks.
type Places struct {
	whole  *Model
	params []placedParam
	named  map[string]int // in params
	blocks *blocks
}

// placedParam is a parameter with the place of each of its canonical values.
type placedParam struct {
	name   string
	shape  []int
	pixels int
	offset int
	at     []int32
}

// Places tells where the parameters lie.
func (m *Model) Places() *Places {
	p := &Places{whole: m, named: map[string]int{}, blocks: blocksOf(m)}
	m.each(func(_ int, name string, t Param, offset int) {
		p.named[name] = len(p.params)
		p.params = append(p.params, placedParam{name, channelsOf(t.Shape), max(t.Pixels, 1), offset, t.places(offset)})
	})
	return p
}

// channelsOf returns a shape without the dimensions of 1 before those of a class token.
func channelsOf(shape []int) []int {
	if len(shape) == 3 && shape[0] == 1 && shape[1] == 1 {
		return shape[2:]
	}
	return shape
}

// Each calls f with every parameter in the order of Model.Export: its name and shape,
// that of a class token without the dimensions before its channels, and where each of its values lies, row-major;
// read-only.
func (p *Places) Each(f func(name string, shape []int, at []int32)) {
	for _, t := range p.params {
		f(t.name, t.shape, t.at)
	}
}

// EachPlace calls f as Places.Each does, but with the places of one parameter at a time
// in memory, which are valid until f returns.
func (m *Model) EachPlace(f func(name string, shape []int, at []int32)) {
	var packed, canonical []float32
	var at []int32
	m.each(func(_ int, name string, p Param, offset int) {
		packed, canonical = slices.Grow(packed[:0], p.Size)[:p.Size], slices.Grow(canonical[:0], p.Len())[:p.Len()]
		at = slices.Grow(at[:0], p.Len())[:p.Len()]
		p.placesIn(at, canonical, packed, offset)
		f(name, channelsOf(p.Shape), at)
	})
}

// places returns, for each canonical value of a parameter at offset, where it lies.
func (p Param) places(offset int) []int32 {
	at := make([]int32, p.Len())
	p.placesIn(at, make([]float32, len(at)), make([]float32, p.Size), offset)
	return at
}

// placesIn writes to at what places returns, in scratch memory of the parameter's sizes.
// A place goes through Unpack, which only moves values, as the bits of a float32.
func (p Param) placesIn(at []int32, canonical, packed []float32, offset int) {
	for i := range packed {
		packed[i] = math.Float32frombits(uint32(offset + i))
	}
	p.Unpack(canonical, packed)
	for i, x := range canonical {
		at[i] = int32(math.Float32bits(x))
	}
}

// Of returns, for each packed parameter of a sub-network, where it lies in the packed
// vector of the whole one, -1 for padding. Parameters are paired by name. A smaller one
// is the part with the lowest indices of every dimension, within each gate of a
// recurrent layer, each head of attention and each input of a join of channels, but for
// the heights and widths of convolutions' kernels, the last two of four: of those it is
// the middle. The error names a parameter that is not part of the whole network.
func (p *Places) Of(sub *Model) ([]int32, error) { return p.Rotated(sub, 0) }

// Rotated is Of for a sub-network whose channels begin elsewhere: wherever it has fewer
// of them than the whole network's C, its channel k is the whole one's (k + shift) mod C
// (FedRolex, Alam et al. 2022). shift is 0 or more.
func (p *Places) Rotated(sub *Model, shift int) ([]int32, error) {
	place := list.Made(sub.Size(), func(i int) int32 { return -1 })
	blocks := blocksOf(sub)
	if shift > 0 && blocks.still != "" {
		return nil, fmt.Errorf("model %s: the channels of %s cannot start elsewhere, because its groups read neighbours", p.whole.name, blocks.still)
	}
	var err error
	sub.each(func(_ int, name string, t Param, offset int) {
		var whole placedParam
		if i, ok := p.named[name]; ok {
			whole = p.params[i]
		}
		shape := channelsOf(t.Shape)
		if !isPart(shape, whole.shape) {
			err = fmt.Errorf("model %s: %s %v of a sub-network is not part of the whole network's %v", p.whole.name, name, shape, whole.shape)
			return
		}
		if slices.Equal(shape, whole.shape) { // it lies in the same way
			for _, at := range whole.at {
				place[offset+int(at)-whole.offset] = at
			}
			return
		}
		own := t.places(offset)
		ours, theirs := blocks.of[name], p.blocks.of[name]
		if shift > 0 || len(ours[0]) > 1 || len(ours[1]) > 1 {
			if err = fitBlocks(ours, theirs); err != nil {
				err = fmt.Errorf("model %s: %s of a sub-network: %w", p.whole.name, name, err)
				return
			}
			eachOf(indices(shape, whole, ours, theirs, shift), whole.shape, func(small, large int) { place[own[small]] = whole.at[large] })
			return
		}
		eachWithin(shape, whole.shape, func(small, large, n int) {
			for i, at := range own[small : small+n] {
				place[at] = whole.at[large+i]
			}
		})
	})
	return place, err
}

// isPart reports whether a tensor of one shape can be part of one of another.
func isPart(small, large []int) bool {
	if len(small) != len(large) {
		return false
	}
	for d, n := range small {
		if n > large[d] || d >= 2 && len(small) == 4 && (large[d]-n)%2 != 0 {
			return false
		}
	}
	return true
}

// eachWithin calls f with the runs of the smaller of two tensors: where a run begins
// in the one and in the other, row-major, and how long it is.
func eachWithin(small, large []int, f func(small, large, n int)) {
	// Behind the dimension cut both are the same, so a run goes over all of them.
	cut, n := len(small)-1, 1
	for cut > 0 && small[cut] == large[cut] {
		n *= small[cut]
		cut--
	}
	shift := func(d int) int {
		if len(small) == 4 && d >= 2 {
			return (large[d] - small[d]) / 2
		}
		return 0
	}
	index := make([]int, cut)
	run := small[cut] * n
	for done := false; !done; {
		from, to := 0, 0
		for d, k := range index {
			from, to = from*small[d]+k, to*large[d]+k+shift(d)
		}
		f(from*run, (to*large[cut]+shift(cut))*n, run)
		done = true
		for d := cut - 1; d >= 0 && done; d-- {
			if index[d]++; index[d] < small[d] {
				done = false
			} else {
				index[d] = 0
			}
		}
	}
}

// fitBlocks compares the blocks of a parameter of a sub-network with the whole one's.
func fitBlocks(ours, theirs [2][]int) error {
	for d, blocks := range ours {
		if len(blocks) != len(theirs[d]) {
			return fmt.Errorf("it consists of %d blocks of channels, the whole network's of %d", len(blocks), len(theirs[d]))
		}
		for i, n := range blocks {
			if n > theirs[d][i] {
				return fmt.Errorf("a block has %d channels, the whole network's %d", n, theirs[d][i])
			}
		}
	}
	return nil
}

// indices lists, for each dimension of a tensor, the indices of the larger one that it
// has. Channels are those from shift on, round each block of which it has fewer.
func indices(small []int, whole placedParam, ours, theirs [2][]int, shift int) [][]int {
	lists := make([][]int, len(small))
	for d, n := range small {
		if d >= 2 {
			begin := 0
			if len(small) == 4 {
				begin = (whole.shape[d] - n) / 2
			}
			for k := range n {
				lists[d] = append(lists[d], begin+k)
			}
			continue
		}
		each := 1
		if d == 1 {
			each = whole.pixels
		}
		own, all := ours[d], theirs[d]
		if len(own) == 0 {
			own, all = []int{n / each}, []int{whole.shape[d] / each}
		}
		base := 0
		for i, k := range own {
			begin := 0
			if k < all[i] {
				begin = shift % all[i]
			}
			for c := range k * each {
				lists[d] = append(lists[d], (base+(begin+c/each)%all[i])*each+c%each)
			}
			base += all[i]
		}
	}
	return lists
}

// eachOf calls f with the places, row-major, of every value of a tensor in itself and in
// the larger one, of which it has the indices of lists.
func eachOf(lists [][]int, large []int, f func(small, large int)) {
	last := len(lists) - 1
	var visit func(d, from, to int)
	visit = func(d, from, to int) {
		from, to = from*len(lists[d]), to*large[d]
		for k, at := range lists[d] {
			if d == last {
				f(from+k, to+at)
			} else {
				visit(d+1, from+k, to+at)
			}
		}
	}
	visit(0, 0, 0)
}
