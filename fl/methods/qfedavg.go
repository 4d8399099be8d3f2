package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// qFedAvg is q-FedAvg (Li et al. 2019, algorithm 2), which minimizes the mean of
// F_i^(q+1)/(q+1), q = server.q: clients with high losses count more. With L = 1/client.lr and
// the loss F_i of the broadcast weights on the client's training samples
//
//	D_i = F_i^q L (w - w_i)
//	h_i = q F_i^(q-1) |L (w - w_i)|^2 + L F_i^q
//	w <- w - sum D_i / sum h_i
//
// q = 0 is FedAvg with uniform weights. The paper draws clients by their shares of the
// samples, which comes to weights by these with server.weighted.
func qFedAvg() fl.Method {
	return fl.Method{
		Name:        "qfedavg",
		Doc:         "q-FedAvg: clients count by the power server.q of their loss, for fairness among them",
		Paper:       "Li et al. 2020, arXiv:1905.10497",
		Differs:     "clients are drawn uniformly, and weighted by their samples with server.weighted; the paper draws them by their samples",
		Uses:        slices.Concat(localSGD, hyper.Using("server.q", "server.weighted")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.Q, s.Weighted = 1, false },
		Local:       qFedAvgLocal,
		Vectors:     1,
		Personalize: plainSGD,
		Work:        workWithLoss,
		NewServer:   func(int) fl.Server { return qFedAvgServer{} },
		Synchronous: "its steps go by losses of one version of the model",
	}
}

// workWithLoss is the loss of local SGD and of a forward pass, about a third of a step's.
func workWithLoss(w fl.Workload) float64 { return w.SGD() + w.Train/3 }

// leastLoss is added to losses that are raised to a power, as in the authors' code.
const leastLoss = 1e-10

func qFedAvgLocal(l *fl.Local) error {
	l.Uniform()
	loss, err := l.MeanLoss(l.Broadcast, l.Train)
	if err != nil {
		return err
	}
	if err := l.SGD(fl.LocalRun{}); err != nil {
		return err
	}
	q, lipschitz, log := l.ServerParams.Q, 1/l.Params.LR, det.Log(loss+leastLoss)
	l.Upload = l.Vector(0)
	l.Change(l.Upload)
	kernels.Scale(l.Upload, float32(lipschitz))
	square := kernels.Dot(l.Upload, l.Upload)
	power := det.Exp(q * log)
	kernels.Scale(l.Upload, float32(power))
	l.Number = float64(q*det.Exp((q-1)*log)*square) + float64(lipschitz*power)
	return nil
}

// qFedAvgServer divides the mean of the D_i by that of the h_i.
type qFedAvgServer struct{ plainServer }

func (qFedAvgServer) Step(w []float32, u *fl.Update, _ fl.ServerParams) {
	if u.Taken > 0 {
		kernels.Axpy(w, -float32(1/u.Number), u.Mean)
	}
}
