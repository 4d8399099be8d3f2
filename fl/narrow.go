package fl

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/nn"
)

// narrowNet is a sub-network and where its parameters lie in the whole one.
type narrowNet struct {
	model *nn.Model
	place []int32 // of its packed parameters in the whole packed vector; -1 for padding
	flops float64 // of a training step, for an example
}

// maxPlaces bounds the parameters whose numbers a float32 holds exactly.
const maxPlaces = 1 << 24

// newNarrowNet cuts a model to a width.
func newNarrowNet(m *nn.Model, width float64) (*narrowNet, error) {
	if m.Size() >= maxPlaces {
		return nil, fmt.Errorf("model %s: %d parameters; sub-networks can be cut from fewer than %d", m.Name(), m.Size(), maxPlaces)
	}
	sub, err := m.Narrow(width)
	if err != nil {
		return nil, err
	}
	n := &narrowNet{model: sub, place: make([]int32, sub.Size())}
	_, flops := sub.FLOPs()
	n.flops = float64(flops)
	for i := range n.place {
		n.place[i] = -1
	}
	whole, part := places(m), places(sub)
	for i := range part {
		eachCommon(part[i].Shape, whole[i].Shape, func(small, large int) {
			n.place[int(part[i].Data[small])] = int32(whole[i].Data[large])
		})
	}
	return n, nil
}

// places returns, for every parameter in its canonical place, the packed one.
func places(m *nn.Model) []nn.Tensor {
	v := m.NewParams()
	for i := range v {
		v[i] = float32(i)
	}
	return m.Export(v)
}

// eachCommon calls f with the two row-major numbers of every index of the smaller of
// two tensors.
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

// narrowWorker is what a worker trains a sub-network in.
type narrowWorker struct {
	net                      *narrowNet
	ws                       *nn.Workspace
	weights, start, velocity []float32
}

// narrowed returns the worker's memory for a sub-network with the weights of the
// whole network w.
func (w *worker) narrowed(n *narrowNet, whole []float32) *narrowWorker {
	s := w.narrow[n]
	if s == nil {
		m := n.model
		s = &narrowWorker{net: n, ws: m.NewWorkspace(), weights: m.NewParams(), start: m.NewParams(), velocity: m.NewParams()}
		if w.narrow == nil {
			w.narrow = map[*narrowNet]*narrowWorker{}
		}
		w.narrow[n] = s
	}
	for i, at := range n.place {
		if at >= 0 {
			s.weights[i] = whole[at]
		}
	}
	copy(s.start, s.weights)
	return s
}
