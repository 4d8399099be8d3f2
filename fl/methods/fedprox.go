package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// fedProx is FedAvg with a proximal term in the local objective,
// mu/2 |w_k - w|^2 (Li et al. 2020, algorithm 2).
func fedProx() fl.Method {
	return fl.Method{
		Name:        "fedprox",
		Doc:         "FedAvg with a proximal term of weight client.mu",
		Paper:       "Li et al. 2020, arXiv:1812.06127",
		Uses:        slices.Concat(localSGD, hyper.Needing("client.mu", "(0, inf)", `with 0 it is method "fedavg"`)),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.Mu = 0.01 },
		Local:       proximalSGD,
		Plain:       true,
		NewServer:   averaging,
	}
}

// proximalSGD takes local steps with a proximal term.
func proximalSGD(l *fl.Local) error { return l.SGD(fl.LocalRun{Mu: l.Params.Mu}) }
