package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// Reptile is FedAvg with a server step (Nichol et al. 2018; FedEx's outer
// loop): v <- m v + g with v_0 = 0, w <- w - alpha_t v, alpha_t = lr gamma^t.
// The local objective may have a proximal term.
func Reptile() fl.Method {
	return fl.Method{
		Name:      "reptile",
		Doc:       "FedAvg with a server step: learning rate, momentum and decay",
		Paper:     "Nichol et al. 2018, arXiv:1803.02999",
		Uses:      slices.Concat(localSGD, serverStep, hyper.Using("client.mu")),
		Local:     proximalSGD,
		NewServer: stepping,
	}
}

// stepping returns a server that steps with momentum.
func stepping(size int) fl.Server { return &momentumServer{velocity: make([]float32, size)} }

// momentumServer is a server step with heavy-ball momentum and a learning rate
// that decays by the round.
type momentumServer struct{ velocity []float32 }

func (s *momentumServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	kernels.Scale(s.velocity, float32(p.Momentum))
	kernels.Add(s.velocity, s.velocity, u.Mean)
	kernels.Axpy(w, -float32(p.Rate(u.Round)), s.velocity)
}

func (s *momentumServer) State() [][]float32 { return [][]float32{s.velocity} }
