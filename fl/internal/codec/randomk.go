package codec

import "github.com/fedfast/fedfast/kernels"

// RandomK appends k of the n places, ascending, to index, each set with the same probability.
func RandomK(index []int32, n, k int, draws *kernels.Stream) []int32 {
	for i := 0; k > 0; i++ {
		if draws.Float64()*float64(n-i) < float64(k) {
			index = append(index, int32(i))
			k--
		}
	}
	return index
}
