package methods

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/nn"
)

// heteroFL is HeteroFL (Diao et al. 2021): each client trains the sub-network of
// the first share of the channels that its width says, with scaled activations (see
// nn.Model.Narrow, which differs from the authors' code where no normalisation follows)
// and the logits of classes that it lacks held at 0, as there. Every
// weight becomes the mean, unweighted unless server.weighted, over the clients that hold it, those of the
// last layer's rows over the clients that have the class; a weight that nobody
// holds stays. A personalized model is the client's sub-network.
func heteroFL() fl.Method {
	return fl.Method{
		Name:        "heterofl",
		Doc:         "HeteroFL: clients train sub-networks of their own widths",
		Paper:       "Diao et al. 2021, arXiv:2010.01264",
		Uses:        usesWidths,
		SetDefaults: equally,
		Reads:       []string{"client.widths"},
		Prepare:     func(cfg *fl.Config) (any, error) { return prepareWidths(cfg, func(*fl.Local) int { return 0 }) },
		Local:       trainWidth,
		Vectors:     1,
		NewServer:   func(int) fl.Server { return heteroServer{} },
		Gather:      gatherWidth,
		Trains: func(setup any, client int, c fl.ClientParams) (*fl.Subnet, error) {
			h := setup.(*heteroSetup)
			return h.net(slice{h.width(client, c), 0})
		},
		Synchronous: "each weight is the mean over the clients of a round that hold it",
	}
}

// widths are the shares of the channels that sub-networks can have.
var widths = []float64{1, 0.5, 0.25, 0.125, 0.0625}

var usesWidths = slices.Concat(hyper.UsingSGD(), personalLR, forgets("a client's sub-network may have another width in the next round"),
	hyper.Needing("client.width", "0 or 1 or 0.5 or 0.25 or 0.125 or 0.0625", "0 is the client's own"), hyper.Using("server.weighted"))

// prepareWidths checks that a model has sub-networks of every width that is set; shift tells
// the channel from which on a client has them.
func prepareWidths(cfg *fl.Config, shift func(l *fl.Local) int) (*heteroSetup, error) {
	places := cfg.Model.Places()
	h := &heteroSetup{
		method: cfg.Method.Name, model: cfg.Model, places: places, widths: cfg.Widths, shift: shift,
		nets:    map[float64]*nn.Model{},
		kept:    keptSubnets[slice]{size: cfg.Model.Size()},
		outputs: sync.OnceValues(func() ([]int32, int) { return outputsOf(cfg.Model, places) }),
	}
	if len(h.widths) == 0 {
		h.widths = widths
	}
	for _, width := range h.widths {
		if !slices.Contains(widths, width) {
			return nil, fmt.Errorf("client.widths: %v: must be among 1, 0.5, 0.25, 0.125, 0.0625", width)
		}
		if _, err := h.net(slice{width, 0}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// heteroSetup is what the clients share.
type heteroSetup struct {
	method string
	model  *nn.Model
	places *nn.Places
	widths []float64 // that clients have in turn
	shift  func(l *fl.Local) int
	// outputs tells the class of each weight of the last layer, and where it
	// begins.
	outputs func() (classOf []int32, lo int)

	kept keptSubnets[slice]
	nets map[float64]*nn.Model // by width; whoever makes one has kept's lock
}

// slice is the share of the channels that a sub-network has, and the first of them.
type slice struct {
	width float64
	shift int
}

// net returns a sub-network.
func (h *heteroSetup) net(s slice) (*fl.Subnet, error) {
	if s.width == 1 { // all channels are the same ones wherever they begin
		s.shift = 0
	}
	return h.kept.of(s, func() (*fl.Subnet, error) {
		net, err := h.narrow(s)
		if err != nil {
			return nil, fmt.Errorf("method %q at width %v: %w", h.method, s.width, err)
		}
		return net, nil
	})
}

// of returns the client's sub-network.
func (h *heteroSetup) of(l *fl.Local) (*fl.Subnet, error) {
	return h.net(slice{h.width(l.Client, l.Params), h.shift(l)})
}

// width returns the share of the channels that a client trains.
func (h *heteroSetup) width(client int, c fl.ClientParams) float64 {
	if c.Width > 0 {
		return c.Width
	}
	return h.widths[client%len(h.widths)]
}

func trainWidth(l *fl.Local) error {
	l.Uniform()
	h := l.Setup.(*heteroSetup)
	net, err := h.of(l)
	if err != nil {
		return err
	}
	if l.Absent, err = absent(l.Train, h.model.Classes()); err != nil {
		return err
	}
	weights := l.TrainSubnet(net)
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	h.eachHeld(net, l.Absent, func(at int32, i int) { l.Weights[at] = weights[i] })
	return nil
}

// absent returns the classes of which a client has no training example.
func absent(v data.View, classes int) ([]int32, error) {
	counts, err := v.ClassCounts(classes)
	if err != nil {
		return nil, err
	}
	var none []int32
	for class, n := range counts {
		if n == 0 {
			none = append(none, int32(class))
		}
	}
	return none, nil
}

// eachHeld calls f with the places, in the whole and in the sub-network, of the
// weights that a client holds which lacks the absent classes.
func (h *heteroSetup) eachHeld(net *fl.Subnet, absent []int32, f func(at int32, i int)) {
	lacks := make([]bool, h.model.Classes())
	for _, class := range absent {
		lacks[class] = true
	}
	classOf, lo := h.outputs()
	for i, at := range net.Place {
		if at < 0 || int(at) >= lo && lacks[classOf[int(at)-lo]] {
			continue
		}
		f(at, i)
	}
}

// outputsOf returns the class to which each weight of the last layer belongs, and
// the place of that layer's first weight. Outputs by the table of an embedding have
// none: all clients train its rows as those of tokens.
func outputsOf(m *nn.Model, places *nn.Places) (classOf []int32, lo int) {
	for _, s := range m.Stages() {
		if _, tied := s.Layer.(nn.Tied); tied {
			return nil, m.Size()
		}
	}
	last := m.Head(1)
	classOf = make([]int32, last.Len())
	places.Each(func(_ string, shape []int, all []int32) {
		if int(all[0]) < last.Lo {
			return
		}
		each := len(all) / shape[0]
		for i, at := range all {
			classOf[int(at)-last.Lo] = int32(i / each)
		}
	})
	return classOf, last.Lo
}

// gatherWidth adds up the weights in the mean of the clients that hold each of the network's.
func gatherWidth(extra, _ []float32, l *fl.Local) {
	h := l.Setup.(*heteroSetup)
	net, err := h.of(l)
	if err != nil {
		return // Local has failed
	}
	h.eachHeld(net, l.Absent, func(at int32, _ int) { extra[at] += float32(l.Weight) })
}

type heteroServer struct{}

func (heteroServer) Step(w []float32, u *fl.Update, _ fl.ServerParams) { holdersStep(w, u) }

// holdersStep makes every weight the mean over the clients that hold it, whose weights
// u.Extra adds up.
func holdersStep(w []float32, u *fl.Update) {
	all := float32(u.Weight)
	for i, n := range u.Extra {
		if n > 0 {
			w[i] -= float32(u.Mean[i]*all) / n
		}
	}
}

func (heteroServer) State() [][]float32 { return nil }

// maxPlaces bounds the parameters whose numbers a float32 holds exactly.
const maxPlaces = 1 << 24

// narrow makes a sub-network of the model. All of one width are one network, in other
// places.
func (h *heteroSetup) narrow(s slice) (*fl.Subnet, error) {
	m := h.model
	if m.Size() >= maxPlaces {
		return nil, fmt.Errorf("model %s: %d parameters; sub-networks need fewer than %d", m.Name(), m.Size(), maxPlaces)
	}
	sub := h.nets[s.width]
	if sub == nil {
		var err error
		if sub, err = m.Narrow(s.width); err != nil {
			return nil, err
		}
		h.nets[s.width] = sub
	}
	place, err := h.places.Rotated(sub, s.shift)
	if err != nil {
		return nil, err
	}
	return &fl.Subnet{Model: sub, Place: place}, nil
}
