package nn

import "fmt"

// Places tells where the parameters of sub-networks lie in a whole one.
type Places struct {
	whole *Model
	at    map[string]wholeParam
}

// wholeParam is a parameter of the whole network.
type wholeParam struct {
	shape []int
	at    []int32 // where each canonical value lies in the packed vector
}

// NewPlaces returns those of a whole network.
func NewPlaces(whole *Model) *Places {
	p := &Places{whole: whole, at: map[string]wholeParam{}}
	whole.each(func(_ int, name string, t Param, offset int) {
		p.at[name] = wholeParam{t.Shape, t.places(offset)}
	})
	return p
}

// places returns, for each canonical value of a parameter at offset, where it lies.
func (p Param) places(offset int) []int32 {
	const exact = 1 << 24 // float32 holds whole numbers up to it
	at := make([]int32, p.Len())
	packed, canonical := make([]float32, p.Size), make([]float32, p.Len())
	for lo := 0; lo < p.Size; lo += exact - 1 {
		clear(packed)
		for i := range packed[lo:min(lo+exact-1, p.Size)] {
			packed[lo+i] = float32(i + 1)
		}
		p.Unpack(canonical, packed)
		for i, x := range canonical {
			if x > 0 {
				at[i] = int32(offset + lo + int(x) - 1)
			}
		}
	}
	return at
}

// Of returns, for each packed parameter of a sub-network, where it lies in the packed
// vector of the whole one, -1 for padding. Parameters are paired by name. A smaller one
// is the part with the lowest indices of every dimension, but for the heights and
// widths of convolutions' kernels, the last two of four: of those it is the middle. The
// error names a parameter that is not part of the whole network.
func (p *Places) Of(sub *Model) ([]int32, error) {
	place := make([]int32, sub.Size())
	for i := range place {
		place[i] = -1
	}
	var err error
	sub.each(func(_ int, name string, t Param, offset int) {
		whole, ok := p.at[name]
		if !ok || !isPart(t.Shape, whole.shape) {
			err = fmt.Errorf("model %s: %s %v of a sub-network is no part of the whole network's %v", p.whole.name, name, t.Shape, whole.shape)
			return
		}
		own := t.places(offset)
		eachWithin(t.Shape, whole.shape, func(small, large, n int) {
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
