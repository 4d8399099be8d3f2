package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// maml is federated MAML (Finn et al. 2017; Chen et al. 2018): a client adapts by
// K = client.inner_steps steps on batches D_k of T_i,
// w_{k+1} = w_k - a grad(w_k; D_k) with a = client.inner_lr, and returns the
// meta-gradient of the loss on V_i after them,
//
//	q = (I - a H(w_0; D_0)) ... (I - a H(w_{K-1}; D_{K-1})) grad(w_K; V_i),
//
// without the Hessians when client.first_order, whose products are differences of gradients,
// see nn.Workspace.Hessian. The server steps along the mean of
// the meta-gradients as Reptile's does. V_i takes part in training, so scores on it
// are not those of unseen examples. A client without validation examples has no
// part in the round.
func maml() fl.Method {
	return fl.Method{
		Name:  "maml",
		Doc:   "MAML: meta-gradients on validation samples after client.inner_steps",
		Paper: "Finn et al. 2017, arXiv:1703.03400; Chen et al. 2018, arXiv:1802.07876",
		Uses:  slices.Concat(innerSteps, hyper.Using("client.batch", "client.dropout", "client.wrap"), serverStep),
		SetDefaults: func(c *fl.ClientParams, s *fl.ServerParams) {
			c.InnerLR, c.InnerSteps, s.LR, s.Weighted = 0.01, 5, 0.03, false
		},
		Local:       metaGradient,
		Vectors:     7,
		Personal:    true,
		Personalize: adapt,
		SecondOrder: true,
		Work:        func(w fl.Workload) float64 { return (1+hessian(w))*w.Steps(w.Params.InnerSteps) + w.Val },
		Whole:       "its inner steps are one change of the model",
		NewServer:   stepping,
	}
}

// mamlAdam is MAML with Adam on the server, as appendix B.8 of the FedEx paper has it:
// the step of fedadam along the mean of the meta-gradients, with the clients' weights of
// MAML.
func mamlAdam() fl.Method {
	m, adam := maml(), fedAdam()
	m.Name, m.Doc = "mamladam", "MAML with Adam, without bias correction, as the server's optimizer"
	m.Paper += "; Reddi et al. 2021, arXiv:2003.00295"
	m.Uses = slices.Concat(innerSteps, hyper.Using("client.batch", "client.dropout", "client.wrap"), adaptiveStep, hyper.Using("server.beta2"))
	m.SetDefaults = func(c *fl.ClientParams, s *fl.ServerParams) {
		c.InnerLR, c.InnerSteps = 0.01, 5
		s.LR, s.Beta1, s.Beta2, s.Tau, s.Weighted = 0.0003, 0.9, 0.99, 1e-3, false
	}
	m.NewServer = adam.NewServer
	return m
}

// hessian returns how many gradients a product with the Hessian takes, 0 with client.first_order.
func hessian(w fl.Workload) float64 {
	if w.Params.FirstOrder {
		return 0
	}
	return 2
}

// innerSteps are what methods with inner steps use.
var innerSteps = slices.Concat(forgets("plain gradient steps remember nothing"), hyper.Needing("client.optimizer",
	"sgd", "its meta-gradients follow plain gradient steps"), hyper.Needing("client.inner_lr", "(0, inf)",
	"such as 0.01"), hyper.Needing("client.inner_steps", "[1, inf)", ""),
	hyper.Using("client.first_order", "server.weighted"))

// inner returns the hyperparameters of the inner steps.
func inner(c fl.ClientParams) fl.ClientParams {
	c.LR, c.Steps = c.InnerLR, c.InnerSteps
	return c
}

func metaGradient(l *fl.Local) error {
	l.Uniform()
	if l.Val.Len() == 0 {
		l.Weight = 0
	}
	p := inner(l.Params)
	const spare = 2     // vectors before those of the iterates
	var taken [][]int32 // positions of the steps' batches
	q, hq := l.Vector(0), l.Vector(1)
	batches, k := l.Batches(0, p), p.LocalSteps(l.Train.Len())
	for step := range k {
		b, err := batches.Next()
		if err != nil {
			return err
		}
		if !p.FirstOrder {
			copy(l.Vector(spare+step), l.Weights)
			taken = append(taken, slices.Clone(batches.Positions()))
		}
		grad, r := l.Gradient(l.Weights, b, p, step)
		kernels.Axpy(l.Weights, -float32(p.LR), grad)
		l.Count(r)
	}
	if err := l.Personalized(l.Weights); err != nil {
		return err
	}
	l.Upload = q
	if l.Val.Len() == 0 {
		clear(q)
		return nil
	}
	all := list.Made(l.Val.Len(), func(i int) int32 { return int32(i) })
	b, err := batches.Read(l.Val, all)
	if err != nil {
		return err
	}
	grad, _ := l.Gradient(l.Weights, b, p, k)
	l.Again(len(all))
	copy(q, grad)
	for step, pos := range slices.Backward(taken) {
		if b, err = batches.Read(l.Train, pos); err != nil {
			return err
		}
		l.Hessian(hq, l.Vector(spare+step), q, b, p, step)
		kernels.Axpy(q, -float32(p.LR), hq)
	}
	return nil
}

// adapt takes the inner steps alone.
func adapt(l *fl.Local) error {
	p := inner(l.Params)
	return l.SGD(fl.LocalRun{Params: &p})
}
