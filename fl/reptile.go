package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

func init() { register(reptile{}) }

// reptile is FedAvg with a server step (Nichol et al. 2018; FedEx's outer
// loop): v <- m v + g with v_0 = 0, w <- w - alpha_t v, alpha_t = lr gamma^t.
// The local objective may have a proximal term.
type reptile struct{}

func (reptile) Name() string { return "reptile" }

func (reptile) Doc() string {
	return "FedAvg with a server step: learning rate, momentum and decay"
}

func (reptile) Paper() string {
	return "Nichol et al. 2018, On First-Order Meta-Learning Algorithms, arXiv:1803.02999"
}

func (reptile) Uses() []Use { return slices.Concat(localSGD, serverStep, use("client.mu")) }

func (reptile) Local(l *Local) { l.SGD(l.Params.Mu) }

func (reptile) NewServer(size int) Server {
	return &momentumServer{velocity: make([]float32, size)}
}

// momentumServer is a server step with heavy-ball momentum and a learning rate
// that decays by the round.
type momentumServer struct{ velocity []float32 }

func (s *momentumServer) Step(w []float32, u *Update, p ServerParams) {
	kernels.Scale(s.velocity, float32(p.Momentum))
	kernels.Add(s.velocity, s.velocity, u.Mean)
	kernels.Axpy(w, -float32(rate(p, u.Round)), s.velocity)
}

func (s *momentumServer) State() [][]float32 { return [][]float32{s.velocity} }

// rate returns alpha_t = lr gamma^t.
func rate(p ServerParams, t int) float64 { return p.LR * wholePower(p.Decay, t) }

// wholePower returns x^n for n >= 0 by repeated squaring: products only, so
// the same bits on every machine.
func wholePower(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y *= x
		}
		x *= x
	}
	return y
}
