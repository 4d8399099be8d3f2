package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/nn"
)

// supernet trains sub-networks of a shared one: each client trains what
// ClientParams.Arch picks of the model's choices, and its changes go into the places
// from which its parameters come. As in PerFedRLNAS's released code, the shared network
// moves by the mean of the changes over the cohort, weighted by training examples, in
// which a client that does not hold a parameter has no change of it:
// A <- A + sum_i p_i (w_i - A). With server.holders it is the mean over the clients
// that hold it, as in the paper's text, where all weigh the same (server.weighted =
// false). What nobody held stays. A personalized model is the client's sub-network.
func supernet() fl.Method {
	return fl.Method{
		Name:  "supernet",
		Doc:   "supernet: clients train sub-networks of a model with choices, which a tuner picks",
		Paper: "Yao and Li 2024, PerFedRLNAS: One-for-All Personalized Federated Neural Architecture Search, AAAI 38(15)",
		Uses: slices.Concat(hyper.UsingSGD(), personalLR, forgets("a client may have another sub-network in the next round"),
			hyper.Using("server.holders", "server.weighted")),
		Models:      []string{"mbv3-cifar"},
		Prepare:     needsChoices,
		Local:       trainPicked,
		Vectors:     1,
		Subnet:      func(setup any, c fl.ClientParams) (*fl.Subnet, error) { return setup.(*subnets).of(c) },
		SubnetFLOPs: pickedFLOPs,
		NewServer:   func(int) fl.Server { return supernetServer{} },
		Gather:      gatherPicked,
		Synchronous: "each weight is the mean over the clients of a round that hold it",
	}
}

// needsChoices checks that the model has choices.
func needsChoices(cfg *fl.Config) (any, error) {
	if len(cfg.Model.Choices()) == 0 {
		return nil, fmt.Errorf("method %q: model %s has no choices; take one that has, such as %s", cfg.Method.Name, cfg.Model.Name(), cfg.Method.Models[0])
	}
	return &subnets{model: cfg.Model, places: cfg.Model.Places(), kept: keptSubnets[string]{size: cfg.Model.Size()}}, nil
}

// subnets are the subnets of a model.
type subnets struct {
	model  *nn.Model
	places *nn.Places
	kept   keptSubnets[string] // by ClientParams.Arch
}

// of returns the sub-network of a client.
func (s *subnets) of(c fl.ClientParams) (*fl.Subnet, error) {
	return s.kept.of(c.Arch, func() (*fl.Subnet, error) {
		sub, err := s.model.Sub(c.Pick())
		if err != nil {
			return nil, err
		}
		place, err := s.places.Of(sub)
		if err != nil {
			return nil, err
		}
		return &fl.Subnet{Model: sub, Place: place}, nil
	})
}

// pickedFLOPs returns the operations of a sub-network.
func pickedFLOPs(setup any, c fl.ClientParams) (float64, error) {
	sub, err := setup.(*subnets).model.Sub(c.Pick())
	if err != nil {
		return 0, err
	}
	_, train := sub.FLOPs()
	return float64(train), nil
}

func trainPicked(l *fl.Local) error {
	l.Uniform()
	net, err := l.Setup.(*subnets).of(l.Params)
	if err != nil {
		return err
	}
	weights := l.TrainSubnet(net)
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	for i, at := range net.Place {
		if at >= 0 {
			l.Weights[at] = weights[i]
		}
	}
	return nil
}

// gatherPicked adds up the weights of the clients that hold each parameter.
func gatherPicked(extra, _ []float32, l *fl.Local) {
	if !l.ServerParams.Holders {
		return
	}
	net, err := l.Setup.(*subnets).of(l.Params)
	if err != nil {
		return // Local has failed
	}
	for _, at := range net.Place {
		if at >= 0 {
			extra[at] += float32(l.Weight)
		}
	}
}

type supernetServer struct{ plainServer }

func (s supernetServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	if p.Holders {
		holdersStep(w, u)
		return
	}
	s.plainServer.Step(w, u, p)
}
