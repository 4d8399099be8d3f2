package methods

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/kernels"
)

// FedAvg is federated averaging (McMahan et al. 2017, algorithm 1):
// w <- w - g, where g = w - sum_i p_i w_i and p_i = |T_i| / sum |T_i|.
type FedAvg struct{}

// Name returns "fedavg".
func (FedAvg) Name() string { return "fedavg" }

// Doc says in a line what the method does.
func (FedAvg) Doc() string {
	return "federated averaging: local SGD, then the mean of the clients' weights"
}

// Paper is where the method comes from.
func (FedAvg) Paper() string {
	return "McMahan et al. 2017, Communication-Efficient Learning of Deep Networks from Decentralized Data, arXiv:1602.05629"
}

// Uses lists the hyperparameters of the method.
func (FedAvg) Uses() []fl.Use { return localSGD }

// Local takes the local steps of SGD.
func (FedAvg) Local(l *fl.Local) error { return l.SGD(fl.LocalRun{}) }

// NewServer returns the server side of a trial.
func (FedAvg) NewServer(int) fl.Server { return plainServer{} }

// plainServer takes the mean of the clients' weights as the next weights.
type plainServer struct{}

func (plainServer) Step(w []float32, u *fl.Update, _ fl.ServerParams) { kernels.Sub(w, w, u.Mean) }

func (plainServer) State() [][]float32 { return nil }
