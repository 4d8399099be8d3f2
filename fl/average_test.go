package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

// average is a method like FedAvg, which package fl/methods holds and these tests
// cannot import.
type average struct{}

func (average) Name() string { return "average" }

func (average) Doc() string { return "the mean of the clients' weights" }

func (average) Paper() string { return "" }

func (average) Uses() []Use { return UsingSGD() }

func (average) Local(l *Local) error { return l.SGD(LocalRun{}) }

func (average) NewServer(int) Server { return averageServer{} }

type averageServer struct{}

func (averageServer) Step(w []float32, u *Update, _ ServerParams) { kernels.Sub(w, w, u.Mean) }

func (averageServer) State() [][]float32 { return nil }

// momentum has a proximal term and a server with a state.
type momentum struct{ average }

func (momentum) Uses() []Use {
	return slices.Concat(UsingSGD(), Using("client.mu", "server.lr", "server.momentum", "server.decay"))
}

func (momentum) Local(l *Local) error { return l.SGD(LocalRun{Mu: l.Params.Mu}) }

func (momentum) NewServer(size int) Server { return &momentumServer{make([]float32, size)} }

type momentumServer struct{ velocity []float32 }

func (s *momentumServer) Step(w []float32, u *Update, p ServerParams) {
	kernels.Scale(s.velocity, float32(p.Momentum))
	kernels.Add(s.velocity, s.velocity, u.Mean)
	kernels.Axpy(w, -float32(p.Rate(u.Round)), s.velocity)
}

func (s *momentumServer) State() [][]float32 { return [][]float32{s.velocity} }

// keeping has clients that keep a model each, which they go on training.
type keeping struct{ average }

func (keeping) StateLen(cfg *Config) int { return cfg.Model.Size() }

func (keeping) Local(l *Local) error {
	if err := l.SGD(LocalRun{}); err != nil {
		return err
	}
	if l.Fresh {
		copy(l.State, l.Broadcast)
	}
	if err := l.SGD(LocalRun{Weights: l.State, Other: true}); err != nil {
		return err
	}
	return l.Personalized(l.State)
}

func (keeping) Personalize(l *Local) error {
	if !l.Fresh {
		copy(l.Weights, l.State)
	}
	return nil
}
