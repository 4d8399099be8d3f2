package robust

import (
	"math"
	"math/bits"
	"slices"
)

// Network sorts columns of numbers, some places of them at least, by exchanges of two places
// each that do not depend on the numbers: Batcher's merge exchange sort (Knuth, The Art of
// Computer Programming 3, algorithm 5.2.2M) without the exchanges that change none of the
// places that are wanted.
type Network struct {
	places    int
	exchanges [][2]int32 // the smaller number goes to the first place
}

// NewNetwork returns a network for columns of n numbers after which those from lo to before hi
// in their order are in their places.
func NewNetwork(n, lo, hi int) *Network {
	net := &Network{places: n}
	top := 1 << max(0, bits.Len(uint(n-1))-1)
	for p := top; p > 0 && n > 1; p /= 2 {
		for q, r, d := top, 0, p; ; q, r, d = q/2, p, q-p {
			for i := range max(0, n-d) {
				if i&p == r {
					net.exchanges = append(net.exchanges, [2]int32{int32(i), int32(i + d)})
				}
			}
			if q == p {
				break
			}
		}
	}
	wanted := make([]bool, n)
	for i := lo; i < hi; i++ {
		wanted[i] = true
	}
	kept := len(net.exchanges)
	for _, e := range slices.Backward(net.exchanges) {
		if !wanted[e[0]] && !wanted[e[1]] {
			continue
		}
		wanted[e[0]], wanted[e[1]] = true, true
		kept--
		net.exchanges[kept] = e
	}
	net.exchanges = net.exchanges[kept:]
	return net
}

// columns is how many columns are sorted at a time, in the second cache.
const columns = 256

// sort sorts columns whose rows lie one after the other.
func (net *Network) sort(keys []int32) {
	for _, e := range net.exchanges {
		a, b := keys[int(e[0])*columns:][:columns], keys[int(e[1])*columns:][:columns]
		for i, x := range a {
			y := b[i]
			a[i], b[i] = min(x, y), max(x, y)
		}
	}
}

// orderKey returns an integer that is ordered as x, -0 below 0; orderKey of its bits is x
// again.
func orderKey(bits int32) int32 { return bits ^ bits>>31&math.MaxInt32 }

// Trimmed sets out to the mean, in each coordinate, of the updates without the drop smallest
// and the drop largest values (Yin et al. 2018, arXiv 1803.01498). With Middle of their number
// it is the median.
func Trimmed(run Run, out []float32, updates [][]float32, drop int) {
	n := len(updates)
	lo, hi := drop, n-drop
	net := NewNetwork(n, lo, hi)
	run.each(len(out), func(m *Memory, at, end int) {
		if len(m.keys) < n*columns {
			m.keys = make([]int32, n*columns)
		}
		keys := m.keys[:n*columns]
		for i, u := range updates {
			row := keys[i*columns:][:end-at]
			for j, x := range u[at:end] {
				row[j] = orderKey(int32(math.Float32bits(x)))
			}
		}
		net.sort(keys)
		for j := at; j < end; j++ {
			sum := 0.0
			for i := lo; i < hi; i++ {
				sum += float64(math.Float32frombits(uint32(orderKey(keys[i*columns+j-at]))))
			}
			out[j] = float32(sum / float64(hi-lo))
		}
	})
}

// each calls f with the blocks of columns of n values.
func (run Run) each(n int, f func(m *Memory, lo, hi int)) {
	run(spans, func(i int, m *Memory) {
		lo, end := span(i, n)
		for ; lo < end; lo += columns {
			f(m, lo, min(lo+columns, end))
		}
	})
}

// Middle returns how many of n numbers are dropped at each end to leave the one or the two in
// the middle.
func Middle(n int) int { return (n - 1) / 2 }
