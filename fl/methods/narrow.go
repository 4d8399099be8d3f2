package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// maxPlaces bounds the parameters whose numbers a float32 holds exactly.
const maxPlaces = 1 << 24

// cut cuts a model to a width.
func cut(m *nn.Model, width float64) (*fl.Subnet, error) {
	if m.Size() >= maxPlaces {
		return nil, fmt.Errorf("model %s: %d parameters; sub-networks can be cut from fewer than %d", m.Name(), m.Size(), maxPlaces)
	}
	sub, err := m.Narrow(width)
	if err != nil {
		return nil, err
	}
	place := make([]int32, sub.Size())
	for i := range place {
		place[i] = -1
	}
	whole, part := places(m), places(sub)
	for i := range part {
		eachCommon(part[i].Shape, whole[i].Shape, func(small, large int) {
			place[int(part[i].Data[small])] = int32(whole[i].Data[large])
		})
	}
	return fl.NewSubnet(sub, place), nil
}

// places returns, for every parameter in its canonical place, the packed one.
func places(m *nn.Model) []nn.Tensor {
	v := m.NewParams()
	for i := range v {
		v[i] = float32(i)
	}
	return m.Export(v)
}

// eachCommon calls f with the two row-major numbers of every index of the smaller
// of two tensors.
func eachCommon(small, large []int, f func(small, large int)) {
	index := make([]int, len(small))
	n := 1
	for _, d := range small {
		n *= d
	}
	for i := range n {
		at := 0
		for d, k := range index {
			at = at*large[d] + k
		}
		f(i, at)
		for d := range slices.Backward(index) {
			if index[d]++; index[d] < small[d] {
				break
			}
			index[d] = 0
		}
	}
}
