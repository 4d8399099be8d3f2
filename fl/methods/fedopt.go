package methods

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// fedAvgM is FedAvg with momentum on the server (Hsu et al. 2019):
// v <- m v + g, w <- w - lr v.
func fedAvgM() fl.Method {
	return fl.Method{
		Name:        "fedavgm",
		Doc:         "FedAvg with momentum on the server, server.momentum 0.9 unless set",
		Paper:       "Hsu et al. 2019, arXiv:1909.06335",
		Uses:        slices.Concat(localSGD, serverStep),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) { s.Momentum = 0.9 },
		Local:       plainSGD,
		Plain:       true,
		NewServer:   stepping,
	}
}

// fedOpt is FedAvg with an adaptive optimizer on the server (Reddi et al. 2020,
// Adaptive Federated Optimization, algorithm 2):
//
//	m <- b1 m + (1 - b1) g;  v as second says;  w <- w - lr m / (sqrt(v) + tau)
//
// with m = 0 and v = tau^2 at first and no bias correction. Where the paper adds
// the clients' changes, g subtracts them. The algorithm prints their mean with
// equal weights, 1/|S|; the clients weigh by their training examples, as they do in
// FedAvg, unless server.weighted is false.
func fedOpt(name, doc string, beta1, beta2 float64, second func(v, g, b2 float32) float32) fl.Method {
	m := fl.Method{
		Name:  name,
		Doc:   doc,
		Paper: "Reddi et al. 2021, arXiv:2003.00295",
		Uses:  slices.Concat(localSGD, adaptiveStep, hyper.Using("server.weighted")),
		SetDefaults: func(_ *fl.ClientParams, s *fl.ServerParams) {
			s.LR, s.Beta1, s.Beta2, s.Tau = 0.01, beta1, beta2, 1e-3
		},
		Local: uniformSGD,
		Plain: true,
		NewServer: func(size int) fl.Server {
			return &adaptiveServer{second: second, m: make([]float32, size), v: make([]float32, size), begun: make([]float32, 1)}
		},
	}
	if beta2 > 0 {
		m.Uses = append(m.Uses, hyper.Using("server.beta2")...)
	}
	return m
}

// adaptiveStep is what an adaptive optimizer on the server uses, but for server.beta2.
var adaptiveStep = slices.Concat(serverRate, hyper.Using("server.beta1"), hyper.Needing("server.tau", "(0, inf)", "such as 0.001"),
	hyper.Needing("server.momentum", "0", "its momentum is server.beta1"))

func fedAdagrad() fl.Method {
	return fedOpt("fedadagrad", "FedAvg with Adagrad as the server's optimizer", 0, 0, adagrad)
}

func fedAdam() fl.Method {
	return fedOpt("fedadam", "FedAvg with Adam, without bias correction, as the server's optimizer", 0.9, 0.99, adam)
}

func fedYogi() fl.Method {
	return fedOpt("fedyogi", "FedAvg with Yogi as the server's optimizer", 0.9, 0.99, yogi)
}

// adagrad is v + g^2.
func adagrad(v, g, _ float32) float32 { return v + float32(g*g) }

// adam is b2 v + (1 - b2) g^2.
func adam(v, g, b2 float32) float32 { return float32(b2*v) + float32((1-b2)*float32(g*g)) }

// yogi is v - (1 - b2) g^2 sign(v - g^2).
func yogi(v, g, b2 float32) float32 {
	gg := float32(g * g)
	step := float32((1 - b2) * gg)
	switch {
	case v > gg:
		return v - step
	case v < gg:
		return v + step
	}
	return v
}

type adaptiveServer struct {
	second func(v, g, b2 float32) float32
	m, v   []float32
	begun  []float32 // 1 when v has its first value, tau^2 of the first round
}

func (s *adaptiveServer) Step(w []float32, u *fl.Update, p fl.ServerParams) {
	b1, b2, tau := float32(p.Beta1), float32(p.Beta2), float32(p.Tau)
	lr := float32(p.Rate(u.Round))
	if s.begun[0] == 0 {
		s.begun[0] = 1
		for i := range s.v {
			s.v[i] = float32(tau * tau)
		}
	}
	for i, g := range u.Mean {
		m := float32(b1*s.m[i]) + float32((1-b1)*g)
		v := s.second(s.v[i], g, b2)
		s.m[i], s.v[i] = m, v
		w[i] -= float32(lr * m / (float32(math.Sqrt(float64(v))) + tau))
	}
}

func (s *adaptiveServer) State() [][]float32 { return [][]float32{s.m, s.v, s.begun} }
