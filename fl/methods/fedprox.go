package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
)

// fedProx is FedAvg with a proximal term in the local objective,
// mu/2 |w_k - w|^2 (Li et al. 2020, algorithm 2).
type fedProx struct{ FedAvg }

func (fedProx) Name() string { return "fedprox" }

func (fedProx) Doc() string {
	return "FedAvg with a proximal term of weight client.mu"
}

func (fedProx) Paper() string {
	return "Li et al. 2020, Federated Optimization in Heterogeneous Networks, arXiv:1812.06127"
}

func (fedProx) Defaults(c *fl.ClientParams, _ *fl.ServerParams) { c.Mu = 0.01 }

func (fedProx) Uses() []fl.Use {
	return slices.Concat(localSGD, fl.Needing("client.mu", "(0, inf)", `with 0 it is method "fedavg"`))
}

func (fedProx) Local(l *fl.Local) error { return l.SGD(fl.LocalRun{Mu: l.Params.Mu}) }
