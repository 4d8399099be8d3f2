package methods

import (
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

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
