package fl

import "errors"

func init() { register(fedProx{}) }

// fedProx is FedAvg with a proximal term in the local objective,
// mu/2 |w_k - w|^2 (Li et al. 2020, algorithm 2).
type fedProx struct{}

func (fedProx) Name() string { return "fedprox" }

func (fedProx) Doc() string {
	return "FedAvg with a proximal term of weight client.mu that holds clients near the broadcast weights (Li et al. 2020)"
}

func (fedProx) Check(c ClientParams, s ServerParams) error {
	if c.Mu == 0 {
		return errors.New(`client.mu = 0: method "fedprox" needs a value above 0; with 0 it is method "fedavg"`)
	}
	return checkPlainServer("fedprox", s)
}

func (fedProx) Local(l *Local) { l.SGD(l.Params.Mu) }

func (fedProx) NewServer(int) Server { return plainServer{} }
