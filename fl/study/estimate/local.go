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
		Epochs: k.Epochs, Steps: k.Steps, Batch: k.Batch, Wrap: k.Wrap, PersonalEpochs: k.PersonalEpochs, HeadEpochs: k.HeadEpochs,
		InnerSteps: k.InnerSteps, FirstOrder: k.FirstOrder,
	}
}

// examples returns how many training examples the local training of a client with n
// of them, and val validation examples, takes under a method, in units of one
// gradient of the whole network, of which a product with a Hessian is hessian.
func examples(method string, p fl.ClientParams, n, val, hessian float64) float64 {
	local := epochs(p, p.Epochs, n)
	if p.Steps > 0 {
		local = steps(p, p.Steps, n)
	}
	switch method {
	case "ditto": // a model of the client's own
		if p.PersonalEpochs > 0 {
			return local + epochs(p, p.PersonalEpochs, n)
		}
		return 2 * local
	case "fedrep", "fedbabu": // the head
		return local + epochs(p, p.HeadEpochs, n)
	case "pfedme": // of the inner problem, on one batch
		return local * float64(p.InnerSteps)
	case "perfedavg": // before and after the inner step
		if p.FirstOrder {
			hessian = 0
		}
		return (2 + hessian) * local
	case "maml":
		if p.FirstOrder {
			hessian = 0
		}
		return (1+hessian)*steps(p, p.InnerSteps, n) + val
	}
	return local
}

// hessian returns how many gradients a product with the Hessian takes, by their
// operations.
func hessian(m *nn.Model) float64 {
	_, flops := m.FLOPs()
	return float64(m.HessianFLOPs()) / float64(flops)
}

// epochs returns the examples of passes, of which there is at least one step.
func epochs(p fl.ClientParams, passes, n float64) float64 {
	return max(passes*n, min(float64(p.Batch), n))
}

// steps returns the examples of steps.
func steps(p fl.ClientParams, number int, n float64) float64 {
	batch := float64(p.Batch)
	if !p.Wrap {
		batch = min(batch, n)
	}
	return float64(number) * batch
}
