package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

func init() { register(perFedAvg{}) }

// perFedAvg is Per-FedAvg (Fallah et al. 2020, algorithm 1): local steps along the
// gradient of the loss after one inner step, with a = client.inner_lr and
// b = client.lr,
//
//	u = w_k - a grad(w_k; D1);  q = grad(u; D2);  w_k <- w_k - b (q - a H(w_k; D3) q)
//
// on three independent batches; client.first_order leaves H out. The server takes
// the mean of the models. client.inner_steps inner steps personalize a model.
type perFedAvg struct{ fedAvg }

func (perFedAvg) Name() string { return "perfedavg" }

func (perFedAvg) Doc() string {
	return "Per-FedAvg: an initial model that inner steps personalize well"
}

func (perFedAvg) Paper() string {
	return "Fallah et al. 2020, Personalized Federated Learning: A Meta-Learning Approach, arXiv:2002.07948"
}

// defaults take the paper's inner step, a = 0.01, with which FEMNIST's writers train at FedAvg's client.lr = 0.1.
func (perFedAvg) defaults(c *ClientParams, _ *ServerParams) { c.InnerLR, c.InnerSteps = 0.01, 1 }

func (perFedAvg) Uses() []Use { return slices.Concat(localSteps, innerSteps) }

func (perFedAvg) fit(e *Engine) error { return e.needsHessian() }

func (m perFedAvg) Local(l *Local) {
	l.uniform()
	p, w := l.Params, l.worker
	u, q, hq := w.vector(0), w.vector(1), w.vector(2)
	d1, d2, d3 := l.newBatches(0, p), l.newBatches(1, p), l.newBatches(2, p)
	o := l.trainOpts(p)
	for step := range p.LocalSteps(l.Train.Len()) {
		o.Step = uint32(3 * step)
		r := w.ws.Gradient(l.Weights, d1.fill(), o)
		l.Steps++
		l.Loss += r.Loss
		l.Labels += r.Count
		copy(u, l.Weights)
		kernels.Axpy(u, -float32(p.InnerLR), w.ws.Grad())
		o.Step++
		w.ws.Gradient(u, d2.fill(), o)
		copy(q, w.ws.Grad())
		if !p.FirstOrder {
			o.Step++
			l.hessian(hq, l.Weights, q, d3.fill(), o)
			kernels.Axpy(q, -float32(p.InnerLR), hq)
		}
		kernels.Axpy(l.Weights, -float32(p.LR), q)
	}
	l.scoreApart(m)
}

// personalize takes the inner steps.
func (perFedAvg) personalize(l *Local) { l.innerSteps() }
