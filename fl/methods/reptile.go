package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/kernels"
)

// Reptile is FedAvg with a server step (Nichol et al. 2018; FedEx's outer
// loop): v <- m v + g with v_0 = 0, w <- w - alpha_t v, alpha_t = lr gamma^t.
// The local objective may have a proximal term.
type Reptile struct{}

// Name returns "reptile".
func (Reptile) Name() string { return "reptile" }

// Doc says in a line what the method does.
func (Reptile) Doc() string {
	return "FedAvg with a server step: learning rate, momentum and decay"
}

// Paper is where the method comes from.
func (Reptile) Paper() string {
	return "Nichol et al. 2018, On First-Order Meta-Learning Algorithms, arXiv:1803.02999"
}

// Uses lists the hyperparameters of the method.
func (Reptile) Uses() []fl.Use {
	return slices.Concat(localSGD, serverStep, fl.Using("client.mu"))
}

// Local takes the local steps of SGD.
func (Reptile) Local(l *fl.Local) error { return l.SGD(fl.LocalRun{Mu: l.Params.Mu}) }

// NewServer returns the server side of a trial.
func (Reptile) NewServer(size int) fl.Server {
	return &momentumServer{velocity: make([]float32, size)}
}

// momentumServer is a server step with heavy-ball momentum and a learning rate
// that decays by the round.
type momentumServer struct{ velocity []float32 }

func (s *momentumServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	kernels.Scale(s.velocity, float32(p.Momentum))
	kernels.Add(s.velocity, s.velocity, u.Mean)
	kernels.Axpy(w, -float32(p.Rate(u.Round)), s.velocity)
}

func (s *momentumServer) State() [][]float32 { return [][]float32{s.velocity} }
