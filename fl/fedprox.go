package fl

import "slices"

func init() { register(fedProx{}) }

// fedProx is FedAvg with a proximal term in the local objective,
// mu/2 |w_k - w|^2 (Li et al. 2020, algorithm 2).
type fedProx struct{ fedAvg }

func (fedProx) Name() string { return "fedprox" }

func (fedProx) Doc() string {
	return "FedAvg with a proximal term of weight client.mu"
}

func (fedProx) Paper() string {
	return "Li et al. 2020, Federated Optimization in Heterogeneous Networks, arXiv:1812.06127"
}

func (fedProx) defaults(c *ClientParams, _ *ServerParams) { c.Mu = 0.01 }

func (fedProx) Uses() []Use {
	return slices.Concat(localSGD, need("client.mu", "(0, inf)", `with 0 it is method "fedavg"`))
}

func (fedProx) Local(l *Local) { l.SGD(l.Params.Mu) }
