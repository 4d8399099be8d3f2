package estimate

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
)

// localOf returns the client hyperparameters of a configuration that say how much a
// client trains.
func localOf(c *config.Config) fl.ClientParams {
	k := c.Client
	return fl.ClientParams{
		Epochs: k.Epochs, Steps: k.Steps, Batch: k.Batch, Wrap: k.Wrap, DropLast: k.DropLast, PersonalEpochs: k.PersonalEpochs, HeadEpochs: k.HeadEpochs,
		InnerSteps: k.InnerSteps, FirstOrder: k.FirstOrder, ALAShare: k.ALAShare,
	}
}

// examples returns how many training examples the local training of a client with n of
// them, and val validation examples, takes under a method, in units of one gradient of the
// whole network, of which a product with a Hessian is hessian and a forward pass forward.
func examples(m fl.Method, p fl.ClientParams, s fl.ServerParams, n, val, hessian, forward float64) float64 {
	w := fl.Workload{Params: p, Server: s, Train: n, Val: val, Hessian: hessian, Forward: forward}
	if p.FirstOrder {
		w.Hessian = 0
	}
	return w.Of(&m)
}

// hessian returns how many gradients a product with the Hessian takes, by their
// operations.
func hessian(m *nn.Model) float64 {
	_, flops := m.FLOPs()
	return float64(m.HessianFLOPs()) / float64(flops)
}

// forward returns the operations of a forward pass over those of a gradient.
func forward(m *nn.Model) float64 {
	flops, train := m.FLOPs()
	return float64(flops) / float64(train)
}
