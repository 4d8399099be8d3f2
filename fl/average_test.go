package fl

import (
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// average is a method like FedAvg, which package fl/methods holds and these tests
// cannot import.
func average() Method {
	return Method{
		Name: "average", Plain: true, Doc: "the mean of the clients' weights", Uses: hyper.UsingSGD(),
		Local:     func(l *Local) error { return l.SGD(LocalRun{}) },
		NewServer: func(int) Server { return averageServer{} },
	}
}

type averageServer struct{}

func (averageServer) Step(w []float32, u *Update, _ ServerParams) { kernels.Sub(w, w, u.Mean) }

func (averageServer) State() [][]float32 { return nil }

// momentum has a proximal term and a server with a state.
func momentum() Method {
	m := average()
	m.Uses = append(m.Uses, hyper.Using("client.mu", "server.lr", "server.momentum", "server.decay")...)
	m.Local = func(l *Local) error { return l.SGD(LocalRun{Mu: l.Params.Mu}) }
	m.NewServer = func(size int) Server { return &momentumServer{make([]float32, size)} }
	return m
}

type momentumServer struct{ velocity []float32 }

func (s *momentumServer) Step(w []float32, u *Update, p ServerParams) {
	kernels.Scale(s.velocity, float32(p.Momentum))
	kernels.Add(s.velocity, s.velocity, u.Mean)
	kernels.Axpy(w, -float32(p.Rate(u.Round)), s.velocity)
}

func (s *momentumServer) State() [][]float32 { return [][]float32{s.velocity} }

// keeping has clients that keep a model each, which they go on training.
func keeping() Method {
	m := average()
	m.StateLen = func(cfg *Config) int { return cfg.Model.Size() }
	m.Local = func(l *Local) error {
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
	m.Personalize = func(l *Local) error {
		if !l.Fresh {
			copy(l.Weights, l.State)
		}
		return nil
	}
	return m
}
