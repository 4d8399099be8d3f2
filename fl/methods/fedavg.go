package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// FedAvg is federated averaging (McMahan et al. 2017, algorithm 1):
// w <- w - g, where g = w - sum_i p_i w_i and p_i = |T_i| / sum |T_i|; without
// server.weighted all p_i are equal.
func FedAvg() fl.Method {
	return fl.Method{
		Name:      "fedavg",
		Doc:       "federated averaging: local SGD, then the mean of the clients' weights",
		Paper:     "McMahan et al. 2017, arXiv:1602.05629",
		Uses:      slices.Concat(localSGD, hyper.Using("server.weighted")),
		Local:     uniformSGD,
		Plain:     true,
		NewServer: averaging,
	}
}

// plainSGD takes the local steps of SGD.
func plainSGD(l *fl.Local) error { return l.SGD(fl.LocalRun{}) }

// uniformSGD is plainSGD of clients with equal weights, unless server.weighted.
func uniformSGD(l *fl.Local) error {
	l.Uniform()
	return plainSGD(l)
}

// equally has clients weigh equally unless server.weighted is set.
func equally(_ *fl.ClientParams, s *fl.ServerParams) { s.Weighted = false }

// averaging returns a server that takes the mean of the clients' weights as the next
// weights.
func averaging(int) fl.Server { return plainServer{} }

type plainServer struct{}

func (plainServer) Step(w []float32, u *fl.Update, _ fl.ServerParams) { kernels.Sub(w, w, u.Mean) }

func (plainServer) State() [][]float32 { return nil }
