package fl

import (
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/nn"
)

// Subnet is a smaller network whose parameters are some of the whole one's.
type Subnet struct {
	Model *nn.Model
	// Place holds, for each packed parameter of Model, where it lies in the whole network's
	// packed vector, -1 for padding. It must not change.
	Place []int32
}

// Cost returns the operations of a forward pass, for one example, and the number of
// parameters.
func (s *Subnet) Cost() (flops, params float64) {
	forward, _ := s.Model.FLOPs()
	return float64(forward), float64(s.Model.NumParams())
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
// gradients, the scores of the client's model and the costs belong to s from now
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
	_, flops := s.Model.FLOPs()
	l.subnet, l.exampleFLOPs, l.traffic = sub, float64(flops), s.Model.NumTrainable()
	return sub.weights
}

// fill takes a sub-network's weights out of the whole network's.
func (sub *subnetWorker) fill(s *Subnet, whole []float32) {
	for i, at := range s.Place {
		if at >= 0 {
			sub.weights[i] = whole[at]
		}
	}
}

// scoreSubnet measures the sub-network that whole weights hold.
func (w *worker) scoreSubnet(s *Subnet, whole []float32, frozen *nn.Frozen, v data.View, t *tally) (setScore, error) {
	if v.Len() == 0 {
		return setScore{}, nil
	}
	sub := w.subnet(s, maxPickedSubnets)
	sub.fill(s, whole)
	r, err := w.evaluateIn(sub.ws, sub.weights, frozen, v, nil, t)
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
	i := slices.IndexFunc(w.subnets, func(sub *subnetWorker) bool { return sub.model == s.Model })
	if i >= 0 {
		sub := w.subnets[i]
		w.subnets = append(slices.Delete(w.subnets, i, i+1), sub)
		return sub
	}
	if len(w.subnets) == most {
		w.subnets = slices.Delete(w.subnets, 0, 1)
	}
	m := s.Model
	sub := &subnetWorker{model: m, ws: m.NewWorkspace(), weights: m.NewParams(), start: m.NewParams(), velocity: m.NewParams()}
	w.subnets = append(w.subnets, sub)
	return sub
}
