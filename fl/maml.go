package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
)

func init() { register(maml{}) }

// maml is federated MAML (Finn et al. 2017; Chen et al. 2018): a client adapts by
// K = client.inner_steps steps on batches D_k of T_i,
// w_{k+1} = w_k - a grad(w_k; D_k) with a = client.inner_lr, and returns the
// meta-gradient of the loss on V_i after them,
//
//	q = (I - a H(w_0; D_0)) ... (I - a H(w_{K-1}; D_{K-1})) grad(w_K; V_i),
//
// without the Hessians when client.first_order. The server steps along the mean of
// the meta-gradients as Reptile's does. V_i takes part in training, so scores on it
// are not those of unseen examples. A client without validation examples has no
// part in the round.
type maml struct{ reptile }

func (maml) Name() string { return "maml" }

func (maml) Doc() string {
	return "MAML: meta-gradients on validation examples after client.inner_steps"
}

func (maml) Paper() string {
	return "Finn et al. 2017, Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks, arXiv:1703.03400; Chen et al. 2018, Federated Meta-Learning with Fast Convergence and Efficient Communication, arXiv:1802.07876"
}

func (maml) defaults(c *ClientParams, s *ServerParams) {
	c.InnerLR, c.InnerSteps, s.LR = 0.01, 5, 0.03
}

func (maml) Uses() []Use {
	return slices.Concat(innerSteps, use("client.batch", "client.dropout", "client.wrap"), serverStep)
}

// innerSteps are what methods with inner steps use.
var innerSteps = slices.Concat(need("client.inner_lr", "(0, inf)", "such as 0.01"), need("client.inner_steps", "[1, inf)", ""),
	use("client.first_order", "server.weighted"))

func (maml) fit(e *Engine) error { return e.needsHessian() }

// inner returns the hyperparameters of the inner steps.
func inner(c ClientParams) ClientParams {
	c.LR, c.Steps = c.InnerLR, c.InnerSteps
	return c
}

func (m maml) Local(l *Local) {
	l.uniform()
	if l.Val.Len() == 0 {
		l.Weight = 0
	}
	p, w := inner(l.Params), l.worker
	type taken struct {
		pos  []int32
		step uint32
	}
	const spare = 2 // vectors before those of the iterates
	var steps []taken
	q, hq := w.vector(0), w.vector(1)
	o, b := l.trainOpts(p), l.newBatches(0, p)
	for k := range p.LocalSteps(l.Train.Len()) {
		batch := b.fill()
		o.Step = uint32(k)
		if !p.FirstOrder {
			copy(w.vector(spare+k), l.Weights)
			steps = append(steps, taken{slices.Clone(b.last), o.Step})
		}
		r := w.ws.Gradient(l.Weights, batch, o)
		kernels.Axpy(l.Weights, -float32(p.LR), w.ws.Grad())
		l.Steps++
		l.Loss += r.Loss
		l.Labels += r.Count
	}
	l.personal(l.Weights)
	l.upload = q
	if l.Val.Len() == 0 {
		clear(q)
		return
	}
	all := make([]int32, l.Val.Len())
	for i := range all {
		all[i] = int32(i)
	}
	o.Step++
	w.ws.Gradient(l.Weights, w.fill(l.Val, all, &b.aug), o)
	l.flops += float64(len(all)) * l.exampleFLOPs
	copy(q, w.ws.Grad())
	for k, s := range slices.Backward(steps) {
		o.Step = s.step
		l.hessian(hq, w.vector(spare+k), q, w.fill(l.Train, s.pos, &b.aug), o)
		kernels.Axpy(q, -float32(p.LR), hq)
	}
}

// personalize takes the inner steps alone.
func (maml) personalize(l *Local) { l.innerSteps() }

// innerSteps adapts the weights.
func (l *Local) innerSteps() {
	p := inner(l.Params)
	l.steps(course{params: &p})
}
