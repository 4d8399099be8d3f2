package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// fedPA is federated posterior averaging (Al-Shedivat et al. 2021, algorithms 3
// and 4). After client.burn_in local steps, each window of client.window steps
// gives a sample of the client's posterior, the mean of the window's iterates
// (IASG); the client returns delta_i = S^-1 (w - xbar), see posterior. The server
// steps along sum p_i delta_i as Reptile's does. In the first server.burn_in
// rounds, and where a client takes too few steps for a sample, delta_i is FedAvg's.
func fedPA() fl.Method {
	return fl.Method{
		Name:  "fedpa",
		Doc:   "federated posterior averaging, by sampled covariances",
		Paper: "Al-Shedivat et al. 2021, arXiv:2010.05273",
		Uses: slices.Concat(hyper.UsingSteps(), personalLR, forgets("a buffer of other rounds biases the samples of the posterior"),
			hyper.Needing("client.optimizer", "sgd", "Adam's steps do not sample the posterior"), hyper.Using("client.momentum", "client.nesterov", "client.weight_decay", "client.bias_decay"),
			hyper.Needing("client.clip_norm", "0", "clipped steps do not sample the posterior"), serverStep, hyper.Needing("client.window", "[1, inf)", ""),
			hyper.Using("client.burn_in", "client.rho", "server.burn_in")),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { c.Window, c.Rho = 3, 0.1 },
		Local:       posteriorLocal,
		Vectors:     4,
		Personalize: plainSGD,
		NewServer:   stepping,
		Whole:       "its steps are divided into those before and between its posterior's samples",
		Synchronous: "a client's change is its posterior's at one version of the model",
	}
}

func posteriorLocal(l *fl.Local) error {
	if l.Round < l.ServerParams.BurnIn {
		return l.SGD(fl.LocalRun{})
	}
	p := l.Params
	post := &posterior{rho: p.Rho, borrow: func(i int) []float32 { return l.Vector(i + 1) }}
	sum, n := l.Vector(0), 0
	err := l.SGD(fl.LocalRun{Each: func(step int) {
		if step < p.BurnIn {
			return
		}
		if n == 0 {
			copy(sum, l.Weights)
		} else {
			kernels.Add(sum, sum, l.Weights)
		}
		if n++; n == p.Window {
			kernels.Scale(sum, float32(1/float64(n)))
			l.Shared(sum)
			post.add(sum)
			n = 0
		}
	}})
	if err != nil || post.samples == 0 {
		return err
	}
	l.Upload = sum
	copy(sum, l.Broadcast)
	l.Shared(sum)
	post.delta(sum)
	return nil
}

// posterior estimates a client's posterior from samples x_1 ... x_l of its weights
// (Al-Shedivat et al. 2021, appendix C): mean xbar_l and covariance
//
//	S = rho_l I + (1 - rho_l) Cov(x),  rho_l = 1/(1 + (l-1) rho),
//	S/rho_l = I + sum_{m=2..l} rho (m-1)/m u_m u_m^T,  u_m = x_m - xbar_{m-1}
//
// with the unbiased Cov. Each sample changes the inverse of S/rho_l by one
// Sherman-Morrison step, -factor z z^T with z = A^-1 u for the A before it; so the
// samples cost O(l^2 d), and nothing of size d x d is ever formed.
type posterior struct {
	rho     float64
	borrow  func(i int) []float32 // scratch memory by number
	samples int
	factors []float64 // of the steps; step j has z = borrow(j + 1)
}

func (p *posterior) mean() []float32 { return p.borrow(0) }

// add takes the next sample and overwrites it.
func (p *posterior) add(x []float32) {
	p.samples++
	mean := p.mean()
	if p.samples == 1 {
		copy(mean, x)
		return
	}
	l := float64(p.samples)
	kernels.Sub(x, x, mean) // u
	z := p.borrow(len(p.factors) + 1)
	copy(z, x)
	p.solve(z)
	c := p.rho * (l - 1) / l
	p.factors = append(p.factors, c/(1+float64(c*kernels.Dot(x, z))))
	kernels.Axpy(mean, float32(1/l), x)
}

// solve multiplies v by the inverse of S/rho_l.
func (p *posterior) solve(v []float32) {
	// All products are taken with v as it came.
	dots := list.Made(len(p.factors), func(j int) float64 { return kernels.Dot(p.borrow(j+1), v) })
	for j, f := range p.factors {
		kernels.Axpy(v, -float32(f*dots[j]), p.borrow(j+1))
	}
}

// delta overwrites w with S^-1 (w - xbar_l); there must be a sample.
func (p *posterior) delta(w []float32) {
	kernels.Sub(w, w, p.mean())
	p.solve(w)
	kernels.Scale(w, float32(1+float64(float64(p.samples-1)*p.rho)))
}
