package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// pFedMe is pFedMe (Dinh et al. 2020, algorithm 1): a client's personalized model
// theta minimizes its loss plus lambda/2 |theta - w_i|^2, and its w_i descends the
// Moreau envelope that this makes. At each local step, on one batch,
//
//	client.inner_steps times: theta <- theta - client.inner_lr (grad(theta) + lambda (theta - w_i))
//	w_i <- w_i - client.lr lambda (w_i - theta)
//
// theta going on from where it was, as in the authors' code, and the server steps
// by beta = server.lr: w <- (1 - beta) w + beta mean of the w_i. client.lr lambda
// must be below 2 for w_i to come to rest. theta fits the last batch: small ones
// make good w_i, but personalized models that know little else.
func pFedMe() fl.Method {
	return fl.Method{
		Name:  "pfedme",
		Doc:   "pFedMe: personalized models held near the shared one by client.lambda, which descends their Moreau envelopes",
		Paper: "Dinh et al. 2020, arXiv:2006.08848",
		Uses: slices.Concat(hyper.UsingSteps(), forgets("its plain steps remember nothing"),
			hyper.Needing("client.optimizer", "sgd", "its steps descend Moreau envelopes by their gradients"), hyper.Using("client.weight_decay"),
			hyper.Needing("client.lambda", "(0, inf)", ""), hyper.Needing("client.inner_lr", "(0, inf)", ""), hyper.Needing("client.inner_steps", "[1, inf)", ""),
			serverStep, hyper.Using("server.weighted")),
		// lambda and the steps of the authors' experiments; their inner learning rate is 0.05
		// to 0.1 on networks of one and two layers
		SetDefaults: func(c *fl.ClientParams, s *fl.ServerParams) {
			c.Lambda, c.InnerLR, c.InnerSteps, s.Weighted = 15, 0.03, 5, false
		},
		Local:       pFedMeLocal,
		Vectors:     2,
		Personal:    true,
		Personalize: pFedMePersonalize,
		Work:        func(w fl.Workload) float64 { return w.SGD() * float64(w.Params.InnerSteps) }, // on one batch
		NewServer:   stepping,
	}
}

func pFedMeLocal(l *fl.Local) error {
	l.Uniform()
	theta, err := moreau(l)
	if err != nil {
		return err
	}
	return l.Personalized(theta)
}

// moreau moves w_i, which l.Weights hold, and returns theta.
func moreau(l *fl.Local) (theta []float32, err error) {
	p := l.Params
	theta, away := l.Vector(0), l.Vector(1)
	copy(theta, l.Weights)
	opt := &nn.Optimizer{SGD: nn.SGD{LR: float32(p.InnerLR), WeightDecay: float32(p.WeightDecay), Mu: float32(p.Lambda)}, Anchor: l.Weights}
	batches := l.Batches(0, p)
	for step := range p.LocalSteps(l.Train.Len()) {
		b, err := batches.Next()
		if err != nil {
			return nil, err
		}
		for inner := range p.InnerSteps {
			r := l.Step(theta, b, opt, p, step*p.InnerSteps+inner)
			if inner == 0 {
				l.Count(r)
			}
		}
		l.Again((p.InnerSteps - 1) * b.N)
		kernels.Sub(away, l.Weights, theta)
		kernels.Axpy(l.Weights, -float32(p.LR*p.Lambda), away)
	}
	statistics := l.Model().Buffers() // w_i itself sees no batch
	copy(l.Weights[statistics.Lo:], theta[statistics.Lo:])
	return theta, nil
}

// pFedMePersonalize takes theta.
func pFedMePersonalize(l *fl.Local) error {
	theta, err := moreau(l)
	if err != nil {
		return err
	}
	copy(l.Weights, theta)
	return nil
}
