package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// fedPA is federated posterior averaging (Al-Shedivat et al. 2021, algorithms 3
// and 4). After client.burn_in local steps, each window of client.window steps
// gives a sample of the client's posterior, the mean of the window's iterates
// (IASG); the client returns delta_i = S^-1 (w - xbar), see posterior. The server
// steps along sum p_i delta_i as Reptile's does. In the first server.burn_in
// rounds, and where a client takes too few steps for a sample, delta_i is FedAvg's.
func fedPA() fl.Method {
	return fl.Method{
		Name:  "fedpa",
		Doc:   "federated posterior averaging, by sampled covariances",
		Paper: "Al-Shedivat et al. 2021, arXiv:2010.05273",
		Uses: slices.Concat(hyper.UsingSteps(), personalLR, forgets("a buffer of other rounds biases the samples of the posterior"),
			hyper.Needing("client.optimizer", "sgd", "Adam's steps do not sample the posterior"), hyper.Using("client.momentum", "client.nesterov", "client.weight_decay", "client.bias_decay"),
			hyper.Needing("client.clip_norm", "0", "clipped steps do not sample the posterior"), serverStep, hyper.Needing("client.window", "[1, inf)", ""),
			hyper.Using("client.burn_in", "client.rho", "server.burn_in")),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.Window, c.Rho = 3, 0.1 },
		Local:       posteriorLocal,
		Vectors:     4,
		Personalize: plainSGD,
		NewServer:   stepping,
		Whole:       "its steps are divided into those before and between its posterior's samples",
		Synchronous: "a client's change is its posterior's at one version of the model",
	}
}

func posteriorLocal(l *fl.Local) error {
	if l.Round < l.ServerParams.BurnIn {
		return l.SGD(fl.LocalRun{})
	}
	p := l.Params
	post := &posterior{rho: p.Rho, borrow: func(i int) []float32 { return l.Vector(i + 1) }}
	sum, n := l.Vector(0), 0
	err := l.SGD(fl.LocalRun{Each: func(step int) {
		if step < p.BurnIn {
			return
		}
		if n == 0 {
			copy(sum, l.Weights)
		} else {
			kernels.Add(sum, sum, l.Weights)
		}
		if n++; n == p.Window {
			kernels.Scale(sum, float32(1/float64(n)))
			l.Shared(sum)
			post.add(sum)
			n = 0
		}
	}})
	if err != nil || post.samples == 0 {
		return err
	}
	l.Upload = sum
	copy(sum, l.Broadcast)
	l.Shared(sum)
	post.delta(sum)
	return nil
}
