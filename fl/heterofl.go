package fl

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/nn"
)

func init() { register(heteroFL{}) }

// heteroFL is HeteroFL (Diao et al. 2021): each client trains the sub-network of
// the first share of the channels that its width says, with scaled activations and
// the logits of classes that it lacks held at 0, as in the authors' code. Every
// weight becomes the unweighted mean over the clients that hold it, those of the
// last layer's rows over the clients that have the class; a weight that nobody
// holds stays. A personalized model is the client's sub-network.
type heteroFL struct{}

// Widths are the shares of the channels that sub-networks can have.
var Widths = []float64{1, 0.5, 0.25, 0.125, 0.0625}

func (heteroFL) Name() string { return "heterofl" }

func (heteroFL) Doc() string {
	return "HeteroFL: clients train sub-networks of their own widths"
}

func (heteroFL) Paper() string {
	return "Diao et al. 2021, HeteroFL: Computation and Communication Efficient Federated Learning for Heterogeneous Clients, arXiv:2010.01264"
}

func (heteroFL) Uses() []Use {
	return slices.Concat(localSGD, need("client.width", "0 or 1 or 0.5 or 0.25 or 0.125 or 0.0625", "0 is the client's own"))
}

func (heteroFL) reads() []string { return []string{"client.widths"} }

// fit checks that the model can be cut to every width that is set.
func (heteroFL) fit(e *Engine) error {
	for _, width := range e.widths() {
		if !slices.Contains(Widths, width) {
			return fmt.Errorf("client.widths: %v: must be among 1, 0.5, 0.25, 0.125, 0.0625", width)
		}
		if _, err := e.narrow.of(e.cfg.Model, width); err != nil {
			return fmt.Errorf("method \"heterofl\" at width %v: %w", width, err)
		}
	}
	return nil
}

// widths returns those that clients have in turn.
func (e *Engine) widths() []float64 {
	if len(e.cfg.Widths) > 0 {
		return e.cfg.Widths
	}
	return Widths
}

// narrowNets are the sub-networks that an engine has cut, by width.
type narrowNets struct {
	mu   sync.Mutex
	nets map[float64]*narrowNet
}

func (s *narrowNets) of(m *nn.Model, width float64) (*narrowNet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nets[width]; n != nil {
		return n, nil
	}
	n, err := newNarrowNet(m, width)
	if err != nil {
		return nil, err
	}
	if s.nets == nil {
		s.nets = map[float64]*narrowNet{}
	}
	s.nets[width] = n
	return n, nil
}

// width returns that of the client's sub-network.
func (l *Local) width() float64 {
	if w := l.Params.Width; w > 0 {
		return w
	}
	widths := l.engine.widths()
	return widths[l.client%len(widths)]
}

func (heteroFL) Local(l *Local) {
	l.Weight = 1
	e := l.engine
	net, err := e.narrow.of(e.cfg.Model, l.width())
	if err != nil {
		panic(err) // fit has cut the client's own; the check knows the others
	}
	sub := l.worker.narrowed(net, l.Broadcast)
	l.net, l.absent = sub, absent(l.Train, e.cfg.Model.Classes())
	l.exampleFLOPs, l.traffic = net.flops, net.model.NumParams()
	l.evaluate = func(v data.View, aug *data.Augment, t *tally) nn.Result {
		return l.worker.evaluateIn(sub.ws, sub.weights, v, aug, t)
	}
	l.SGD(0)
	l.eachHeld(func(at int32, i int) { l.Weights[at] = sub.weights[i] })
}

// absent returns the classes of which a client has no training example.
func absent(v data.View, classes int) []int32 {
	var none []int32
	counts, err := v.ClassCounts(classes)
	if err != nil {
		panic(err) // becomes the error of the task
	}
	for class, n := range counts {
		if n == 0 {
			none = append(none, int32(class))
		}
	}
	return none
}

// eachHeld calls f with the places, in the whole and in the sub-network, of the
// weights that the client holds.
func (l *Local) eachHeld(f func(at int32, i int)) {
	lacks := make([]bool, l.engine.cfg.Model.Classes())
	for _, class := range l.absent {
		lacks[class] = true
	}
	classOf, lo := l.engine.outputs()
	for i, at := range l.net.net.place {
		if at < 0 || int(at) >= lo && lacks[classOf[int(at)-lo]] {
			continue
		}
		f(at, i)
	}
}

// outputsOf returns the class to which each weight of the last layer belongs, and
// the place of that layer's first weight.
func outputsOf(m *nn.Model) (classOf []int32, lo int) {
	last := m.Head(1)
	classOf = make([]int32, last.Len())
	for _, t := range places(m) {
		if int(t.Data[0]) < last.Lo {
			continue
		}
		each := len(t.Data) / t.Shape[0]
		for i, at := range t.Data {
			classOf[int(at)-last.Lo] = int32(i / each)
		}
	}
	return classOf, last.Lo
}

// gather counts the clients that hold each weight.
func (heteroFL) gather(extra, _ []float32, l *Local) {
	l.eachHeld(func(at int32, _ int) { extra[at]++ })
}

func (heteroFL) NewServer(int) Server { return heteroServer{} }

type heteroServer struct{}

func (heteroServer) Step(w []float32, u *Update, _ ServerParams) {
	all := float32(u.Weight) // every client weighs 1
	for i, n := range u.Extra {
		if n > 0 {
			w[i] -= float32(u.Mean[i]*all) / n
		}
	}
}

func (heteroServer) State() [][]float32 { return nil }
