package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
)

// perFedAvg is Per-FedAvg (Fallah et al. 2020, algorithm 1): local steps along the
// gradient of the loss after one inner step, with a = client.inner_lr and
// b = client.lr,
//
//	u = w_k - a grad(w_k; D1);  q = grad(u; D2);  w_k <- w_k - b (q - a H(w_k; D3) q)
//
// on three independent batches. H q is a difference of two gradients, the paper's
// Per-FedAvg (HF) of section 5, see nn.Workspace.Hessian; client.first_order leaves it out, its
// Per-FedAvg (FO). The server takes the mean of the models. client.inner_steps inner steps
// personalize a model.
func perFedAvg() fl.Method {
	return fl.Method{
		Name:  "perfedavg",
		Doc:   "Per-FedAvg: an initial model that inner steps personalize well",
		Paper: "Fallah et al. 2020, arXiv:2002.07948",
		Uses:  slices.Concat(hyper.UsingSteps(), innerSteps),
		// the paper's inner step, a = 0.01, with which FEMNIST's writers train at FedAvg's
		// client.lr = 0.1
		SetDefaults: func(c *fl.ClientParams, s *fl.ServerParams) { c.InnerLR, c.InnerSteps, s.Weighted = 0.01, 1, false },
		Local:       perFedAvgLocal,
		Vectors:     3,
		Personal:    true,
		Personalize: adapt,
		SecondOrder: true,
		Work:        func(w fl.Workload) float64 { return (2 + hessian(w)) * w.SGD() },
		NewServer:   averaging,
	}
}

func perFedAvgLocal(l *fl.Local) error {
	l.Uniform()
	p := l.Params
	u, q, hq := l.Vector(0), l.Vector(1), l.Vector(2)
	d1, d2, d3 := l.Batches(0, p), l.Batches(1, p), l.Batches(2, p)
	for step := range p.LocalSteps(l.Train.Len()) {
		b, err := d1.Next()
		if err != nil {
			return err
		}
		grad, r := l.Gradient(l.Weights, b, p, 3*step)
		l.Count(r)
		copy(u, l.Weights)
		kernels.Axpy(u, -float32(p.InnerLR), grad)
		if b, err = d2.Next(); err != nil {
			return err
		}
		grad, _ = l.Gradient(u, b, p, 3*step+1)
		copy(q, grad)
		if !p.FirstOrder {
			if b, err = d3.Next(); err != nil {
				return err
			}
			l.Hessian(hq, l.Weights, q, b, p, 3*step+2)
			kernels.Axpy(q, -float32(p.InnerLR), hq)
		}
		kernels.Axpy(l.Weights, -float32(p.LR), q)
	}
	return l.ScorePersonalized()
}
