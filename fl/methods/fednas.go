package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// fedNAS is FedNAS (He et al. 2020): clients search a network whose operations are
// mixed by trained weights alpha, see nn.Branch, and the server averages both alpha and
// the other weights w, by training examples. A client's local search alternates
//
//	w <- w - client.lr grad_w L_train(w, alpha)
//	alpha <- Adam(grad_alpha L_val(w, alpha)), with client.alpha_lr and its other keys
//
// on batches of its training and of its validation examples: DARTS' first order. It
// differs from the paper, whose alpha also descends the training loss (MiLeNAS), and
// from the authors' code, which never averages alpha and takes its gradients on test
// examples. Adam starts afresh in each local search, as it does there. A client
// without validation examples leaves alpha as it is. Since alpha is fitted to
// validation examples, their score of personalized models flatters.
//
// directFedNAS draws an operation of each mixture instead. A relative that is not here
// is SPIDER (Mushtaq et al. 2021). Beside the supernet, which clients train as in FedAvg
// and with uniform shares, each has a network of its own that begins as a copy and is
// trained on the same batches with a proximal term towards the supernet. From a round on,
// and every few rounds, an edge of each kind of cell is decided, 14 in all, by the
// operation that costs the most accuracy on validation examples when it is left out, then
// each node's two inputs in the same way; alpha is never trained. It takes the client's
// network in Local.State with LocalRun.Mu, a mask of what is left there that mixes read,
// and an evaluation for each operation that may go.
func fedNAS() fl.Method {
	return fl.Method{
		Name:  "fednas",
		Doc:   "FedNAS: clients train the weights of mixed operations on validation samples, in turns with the network; both are averaged",
		Paper: "He et al. 2020, arXiv:2004.08546",
		Differs: "the weights of operations descend the loss on validation samples alone (the first order of DARTS), in " +
			"the paper also the training loss (MiLeNAS). The server averages them; the authors' code does not, and takes " +
			"their gradients on test samples",
		Uses: slices.Concat(hyper.UsingSGD(), personalLR, forgets("each local search starts its optimizers afresh"),
			hyper.Needing("client.alpha_lr", "(0, inf)", "such as 3e-4"), hyper.Using("client.alpha_beta1", "client.alpha_beta2", "client.alpha_decay")),
		SetDefaults: func(c *fl.ClientParams, _ *fl.ServerParams) { // the paper's Adam
			c.AlphaLR, c.AlphaBeta1, c.AlphaBeta2, c.AlphaDecay = 3e-4, 0.5, 0.999, 1e-3
		},
		Models:    []string{"darts-cifar"},
		Prepare:   needsMixtures,
		Local:     searchLocal,
		Vectors:   4,
		NewServer: averaging,

		Whole:       "each step on the weights is one of the search, too",
		Synchronous: "clients search in turns of rounds on one version of the mixture",
	}
}

// needsMixtures returns where the weights of mixed operations lie, []nn.Span.
func needsMixtures(cfg *fl.Config) (any, error) {
	alpha := cfg.Model.Mixing()
	if len(alpha) == 0 {
		return nil, fmt.Errorf("method %q: model %s has no mixed operations that train; take one that has, such as %s", cfg.Method.Name, cfg.Model.Name(), cfg.Method.Models[0])
	}
	return alpha, nil
}

func searchLocal(l *fl.Local) error {
	search := newSearch(l)
	if l.Val.Len() > 0 {
		search.batches = l.ValBatches(1, l.Params)
	}
	var failed error
	err := l.SGD(fl.LocalRun{Hold: search.alpha, Each: func(step int) {
		if failed == nil {
			failed = search.step(step)
		}
	}})
	if err != nil {
		return err
	}
	return failed
}

// search takes the steps of alpha.
type search struct {
	l       *fl.Local
	alpha   []nn.Span
	batches *fl.Batches // of validation examples, nil without any
	adam    nn.Optimizer
	w, grad []float32 // of alpha alone
}

func newSearch(l *fl.Local) *search {
	s := &search{l: l, alpha: l.Setup.([]nn.Span)}
	n := list.Sum(s.alpha, func(a nn.Span) int { return a.Len() })
	s.w, s.grad = l.Vector(0)[:n], l.Vector(1)[:n]
	p := l.Params
	s.adam = nn.Optimizer{
		SGD:      nn.SGD{LR: float32(p.AlphaLR), WeightDecay: float32(p.AlphaDecay)},
		Adam:     nn.Adam{On: true, Beta1: p.AlphaBeta1, Beta2: p.AlphaBeta2, Eps: 1e-8},
		Velocity: l.Vector(2)[:n], Second: l.Vector(3)[:n],
	}
	return s
}

// dropouts keeps the masks of dropout on validation examples apart from those of
// training steps.
const dropouts = 1 << 30

// step takes one on the next validation examples.
func (s *search) step(step int) error {
	if s.batches == nil {
		return nil
	}
	b, err := s.batches.Next()
	if err != nil {
		return err
	}
	grad, _ := s.l.MixingGradient(s.l.Weights, b, s.l.Params, dropouts+step)
	at := 0
	for _, a := range s.alpha {
		at += copy(s.grad[at:], grad[a.Lo:a.Hi])
	}
	s.adapt()
	return nil
}

// adapt takes Adam's step on alpha along grad.
func (s *search) adapt() {
	at := 0
	for _, a := range s.alpha {
		at += copy(s.w[at:], s.l.Weights[a.Lo:a.Hi])
	}
	s.adam.Step(s.w, s.grad)
	at = 0
	for _, a := range s.alpha {
		at += copy(s.l.Weights[a.Lo:a.Hi], s.w[at:])
	}
}
