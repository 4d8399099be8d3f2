package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// apfl is APFL (Deng et al. 2020, algorithm 1 with the adaptive alpha of section 4.2):
// beside its w_i a client has a model v_i of its own, and what it uses is the mixture
// m = a_i v_i + (1 - a_i) w_i. Each local step, on one batch and from the weights before it,
//
//	w_i <- w_i - lr grad f(w_i)
//	v_i <- v_i - lr a_i grad f(m),  which is the gradient of f(m) in v_i
//	a_i <- a_i - lr <v_i - w_i, grad f(m)>, held in [0, 1]
//
// and the server averages the w_i. v_i starts at the weights of the client's first round;
// in the paper all of them start before the first. The paper has all steps of a client
// move a_i; its authors' code moves it once a round, with a regularizer. The mixture has running
// statistics of its own, which v_i keeps.
func apfl() fl.Method {
	const why = "its steps are plain gradient steps of three things at once"
	return fl.Method{
		Name:    "apfl",
		Doc:     "APFL: FedAvg, and a model of each client's own that is mixed with it by a weight that is learned",
		Paper:   "Deng et al. 2020, arXiv:2003.13461",
		Differs: "a client's own model starts at the weights of its first round. Every local step moves the mixing weight; the authors' code moves it once a round, with a regularizer",
		Uses: slices.Concat(hyper.UsingSteps(), forgets(why), hyper.Needing("client.optimizer", "sgd", why), hyper.Needing("client.momentum", "0", why),
			hyper.Needing("client.clip_norm", "0", why), hyper.Needing("client.alpha", "(0, 1]", ""), hyper.Using("client.weight_decay", "client.alpha_adapt", "server.weighted")),
		SetDefaults: func(c *fl.ClientParams, s *fl.ServerParams) { c.Alpha, c.AlphaAdapt, s.Weighted = 0.5, true, false },
		StateLen:    func(cfg *fl.Config) int { return modelLen(cfg) + 1 }, // v_i, a_i
		Local:       apflLocal,
		Vectors:     2,
		Personal:    true,
		Personalize: apflKept,
		Kept:        apflKept,
		Work:        func(w fl.Workload) float64 { return 2 * w.SGD() },
		NewServer:   averaging,
	}
}

func apflLocal(l *fl.Local) error {
	l.Uniform()
	p, size, n := l.Params, len(l.Weights), l.Model().Buffers().Lo
	v, alpha := l.State[:size], &l.State[size]
	if l.Fresh {
		copy(v, l.Broadcast)
		*alpha = float32(p.Alpha)
	}
	mixed, away := l.Vector(0), l.Vector(1)
	opt := &nn.Optimizer{SGD: nn.SGD{LR: float32(p.LR), WeightDecay: float32(p.WeightDecay)}}
	batches := l.Batches(0, p)
	for step := range p.LocalSteps(l.Train.Len()) {
		b, err := batches.Next()
		if err != nil {
			return err
		}
		mix(mixed, v, l.Weights, *alpha, n)
		kernels.Sub(away, v, l.Weights)
		l.Count(l.Step(l.Weights, b, opt, p, step))
		grad, _ := l.Gradient(mixed, b, p, step)
		kernels.Axpy(grad[:n], float32(p.WeightDecay), mixed[:n])
		kernels.Axpy(v[:n], -float32(p.LR)**alpha, grad[:n])
		copy(v[n:], mixed[n:])
		if p.AlphaAdapt {
			*alpha = min(1, max(0, *alpha-float32(p.LR*float64(kernels.Dot(away[:n], grad[:n])))))
		}
		l.Again(b.N)
	}
	mix(mixed, v, l.Weights, *alpha, n)
	return l.Personalized(mixed)
}

// mix writes a v + (1 - a) w to dst, after n parameters the statistics of v.
func mix(dst, v, w []float32, a float32, n int) {
	copy(dst, w[:n])
	kernels.Scale(dst[:n], 1-a)
	kernels.Axpy(dst[:n], a, v[:n])
	copy(dst[n:], v[n:])
}

// apflKept mixes the client's own model with the broadcast one.
func apflKept(l *fl.Local) error {
	if size := len(l.Weights); !l.Fresh {
		mix(l.Weights, l.State[:size], l.Broadcast, l.State[size], l.Model().Buffers().Lo)
	}
	return nil
}
