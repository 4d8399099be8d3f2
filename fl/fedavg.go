package fl

import (
	"errors"

	"github.com/fedfast/fedfast/kernels"
)

func init() { register(fedAvg{}) }

// fedAvg is federated averaging (McMahan et al. 2017, algorithm 1):
// w <- w - g, where g = w - sum_i p_i w_i and p_i = |T_i| / sum |T_i|.
type fedAvg struct{}

func (fedAvg) Name() string { return "fedavg" }

func (fedAvg) Doc() string {
	return "federated averaging: local SGD, then the mean of the clients' weights (McMahan et al. 2017)"
}

func (fedAvg) Check(c ClientParams, s ServerParams) error {
	if c.Mu != 0 {
		return errors.New(`client.mu: method "fedavg" has no proximal term; use method "fedprox" or "reptile"`)
	}
	return checkPlainServer("fedavg", s)
}

func (fedAvg) Local(l *Local) { l.SGD(0) }

func (fedAvg) NewServer(int) Server { return plainServer{} }

// plainServer takes the mean of the clients' weights as the next weights.
type plainServer struct{}

func (plainServer) Step(w, g []float32, _ int, _ ServerParams) { kernels.Sub(w, w, g) }

func (plainServer) State() [][]float32 { return nil }

// checkPlainServer refuses server hyperparameters that plain averaging would
// silently ignore.
func checkPlainServer(method string, s ServerParams) error {
	if s != DefaultServerParams() {
		return errors.New(`server.lr, server.momentum, server.decay: method "` + method +
			`" averages plainly (lr 1, momentum 0, decay 1); use method "reptile" for a server step`)
	}
	return nil
}
