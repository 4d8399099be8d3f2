package fl

import (
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/nn"
)

// Subnet is a smaller network whose parameters are some of the whole one's.
type Subnet struct {
	model *nn.Model
	place []int32
	flops float64 // of a training step, for an example
}

// NewSubnet returns the sub-network m. place holds, for each of its packed
// parameters, where it lies in the whole network's packed vector, -1 for padding.
func NewSubnet(m *nn.Model, place []int32) *Subnet {
	_, flops := m.FLOPs()
	return &Subnet{model: m, place: place, flops: float64(flops)}
}

// Place returns where the packed parameters lie in the whole network, see
// NewSubnet; read-only.
func (s *Subnet) Place() []int32 { return s.place }

// Cost returns the operations of a forward pass, for one example, and the number of
// parameters.
func (s *Subnet) Cost() (flops, params float64) {
	forward, _ := s.model.FLOPs()
	return float64(forward), float64(s.model.NumParams())
}

// maxSubnets bounds the sub-networks for which a worker keeps memory: HeteroFL has as
// many widths. Those that Method.Subnet picks seldom come again.
const (
	maxSubnets       = 5
	maxPickedSubnets = 1
)

// subnetWorker is what a worker trains a sub-network in.
type subnetWorker struct {
	model                    *nn.Model
	ws                       *nn.Workspace
	weights, start, velocity []float32
	second                   []float32 // nil until a client trains with Adam
}

// TrainSubnet has the client train a sub-network instead of the whole one: SGD,
// gradients, the scores of the client's model and the costs are those of s from now
// on. It returns the sub-network's weights, which begin as the broadcast ones and
// which SGD trains. What of them goes to the server the method copies to l.Weights.
func (l *Local) TrainSubnet(s *Subnet) []float32 {
	most := maxSubnets
	if l.engine.cfg.Method.Subnet != nil {
		most = maxPickedSubnets
	}
	sub := l.worker.subnet(s, most)
	sub.fill(s, l.Broadcast)
	copy(sub.start, sub.weights)
	l.subnet, l.exampleFLOPs, l.traffic = sub, s.flops, s.model.NumTrainable()
	return sub.weights
}

// fill takes a sub-network's weights out of the whole network's.
func (sub *subnetWorker) fill(s *Subnet, whole []float32) {
	for i, at := range s.place {
		if at >= 0 {
			sub.weights[i] = whole[at]
		}
	}
}

// scoreSubnet measures the sub-network that whole weights hold.
func (w *worker) scoreSubnet(s *Subnet, whole []float32, v data.View, masks []data.Mask) (setScore, error) {
	if v.Len() == 0 {
		return setScore{}, nil
	}
	sub := w.subnet(s, maxPickedSubnets)
	sub.fill(s, whole)
	t := newTally(masks)
	r, err := w.evaluateIn(sub.ws, sub.weights, v, nil, t)
	if err != nil {
		return setScore{}, err
	}
	return scored(r, v, t), nil
}

// Subnet returns the sub-network that c.Arch picks; the error says why there is none.
func (e *Engine) Subnet(c ClientParams) (*Subnet, error) {
	if e.cfg.Method.Subnet == nil {
		return nil, e.cfg.Method.CheckSubnets()
	}
	return e.cfg.Method.Subnet(e.setup, c)
}

// subnet returns what the worker trains a sub-network in. It keeps those of the networks
// that it trained last, up to the given number; sub-networks that differ only in their
// places in the whole network share one.
func (w *worker) subnet(s *Subnet, most int) *subnetWorker {
	i := slices.IndexFunc(w.subnets, func(sub *subnetWorker) bool { return sub.model == s.model })
	if i >= 0 {
		sub := w.subnets[i]
		w.subnets = append(slices.Delete(w.subnets, i, i+1), sub)
		return sub
	}
	if len(w.subnets) == most {
		w.subnets = slices.Delete(w.subnets, 0, 1)
	}
	m := s.model
	sub := &subnetWorker{model: m, ws: m.NewWorkspace(), weights: m.NewParams(), start: m.NewParams(), velocity: m.NewParams()}
	w.subnets = append(w.subnets, sub)
	return sub
}
