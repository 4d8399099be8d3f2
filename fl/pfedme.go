package fl

import (
	"slices"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

func init() { register(pFedMe{}) }

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
type pFedMe struct{ reptile }

func (pFedMe) Name() string { return "pfedme" }

func (pFedMe) Doc() string {
	return "pFedMe: personalized models held near the shared one by client.lambda, which descends their Moreau envelopes"
}

func (pFedMe) Paper() string {
	return "Dinh et al. 2020, Personalized Federated Learning with Moreau Envelopes, arXiv:2006.08848"
}

// defaults are lambda and the steps of the authors' experiments; their inner
// learning rate is 0.05 to 0.1 on networks of one and two layers.
func (pFedMe) defaults(c *ClientParams, _ *ServerParams) {
	c.Lambda, c.InnerLR, c.InnerSteps = 15, 0.03, 5
}

func (pFedMe) Uses() []Use {
	return slices.Concat(localSteps, use("client.weight_decay"), need("client.lambda", "(0, inf)", ""), need("client.inner_lr", "(0, inf)", ""),
		need("client.inner_steps", "[1, inf)", ""), serverStep, use("server.weighted"))
}

func (m pFedMe) Local(l *Local) {
	l.uniform()
	l.personal(m.train(l))
}

// train moves w_i, which l.Weights hold, and returns theta.
func (pFedMe) train(l *Local) []float32 {
	p, w := l.Params, l.worker
	theta, apart := w.vector(0), w.vector(1)
	copy(theta, l.Weights)
	sgd := nn.SGD{LR: float32(p.InnerLR), WeightDecay: float32(p.WeightDecay), Mu: float32(p.Lambda)}
	batches, o := l.newBatches(0, p), l.trainOpts(p)
	for range p.LocalSteps(l.Train.Len()) {
		b := batches.fill()
		for inner := range p.InnerSteps {
			o.Step = uint32(l.Steps*p.InnerSteps + inner)
			r := w.ws.Step(theta, b, o, &nn.Optimizer{SGD: sgd, Anchor: l.Weights})
			if inner == 0 {
				l.Loss += r.Loss
				l.Labels += r.Count
			}
		}
		l.flops += float64((p.InnerSteps-1)*b.N) * l.exampleFLOPs
		l.Steps++
		kernels.Sub(apart, l.Weights, theta)
		kernels.Axpy(l.Weights, -float32(p.LR*p.Lambda), apart)
	}
	return theta
}

// personalize takes theta.
func (m pFedMe) personalize(l *Local) { copy(l.Weights, m.train(l)) }
