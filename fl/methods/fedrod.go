package methods

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// fedRoD is FedRoD (Chen and Chao 2022, algorithm 1, with linear personal heads): the network
// is trained as if each client had as many samples of every class, by the balanced softmax,
// and averaged; a client keeps a second last layer, of the same features h, whose outputs
// z_p are added to those of the network, z_g. A local step, from what was before it, is one of
//
//	the network by the cross entropy of softmax(z_g + log n_c)
//	the personal head by that of softmax(z_g + z_p), with h and z_g as constants
//
// with n_c the number of the client's training samples of the class c. A class without
// samples is left out of the first softmax. Evaluations of the global model measure z_g,
// those of personalized ones z_g + z_p. Both heads being linear, z_g + z_p is what the
// network gives with the sum of the two in place of its head.
func fedRoD() fl.Method {
	return fl.Method{
		Name:        "fedrod",
		Doc:         "FedRoD: a shared model for balanced classes, and a linear head of each client's own that is added to it",
		Paper:       "Chen and Chao 2022, arXiv:2107.00778",
		Differs:     "personal heads are linear, without the paper's hypernetwork, and start at 0, in PFLlib as copies of the first head",
		Uses:        slices.Concat(hyper.UsingSGD(), personalLR, forgets("the optimizer of a personal head starts afresh in each round")),
		Prepare:     balances,
		StateLen:    func(cfg *fl.Config) int { return cfg.Model.Head(1).Len() },
		Local:       fedRoDLocal,
		Vectors:     3,
		Personal:    true,
		Personalize: fedRoDPersonalize,
		Kept:        func(l *fl.Local) error { addHead(l, l.Weights); return nil },
		Work:        func(w fl.Workload) float64 { return (1 + w.Forward) * w.SGD() },
		NewServer:   averaging,
	}
}

// balances returns an error for a loss that cannot be balanced, or a model without a last
// layer that can be added to another.
func balances(cfg *fl.Config) (any, error) {
	if !cfg.Model.EndsDense() {
		return nil, fmt.Errorf("model %s does not end in a dense layer, of which each client has another one in method %q; use method \"fedavg\"", cfg.Model.Name(), cfg.Method.Name)
	}
	return calibrates(cfg)
}

func fedRoDLocal(l *fl.Local) error {
	if err := trainTwoHeads(l); err != nil {
		return err
	}
	joined := l.Vector(0)
	copy(joined, l.Weights)
	addHead(l, joined)
	return l.Personalized(joined)
}

func fedRoDPersonalize(l *fl.Local) error {
	err := trainTwoHeads(l)
	addHead(l, l.Weights)
	return err
}

// addHead adds the client's personal head to the head of weights.
func addHead(l *fl.Local, weights []float32) {
	head := l.Model().Head(1)
	kernels.Add(weights[head.Lo:head.Hi], weights[head.Lo:head.Hi], l.State)
}

// trainTwoHeads takes the local steps of the network, each after one of the personal head on
// the same batch.
func trainTwoHeads(l *fl.Local) error {
	counts, err := l.ClassCounts()
	if err != nil {
		return err
	}
	l.LogitBias = classBias(counts, det.Log)
	p, head, joined := l.Params, l.Model().Head(1), l.Vector(0)
	opt := l.Optimizer(p, head)
	opt.Velocity, opt.Second = l.Vector(1)[:head.Len()], l.Vector(2)[:head.Len()]
	steps := p.LocalSteps(l.Train.Len())
	return l.SGD(fl.LocalRun{Before: func(b *nn.Batch) {
		copy(joined, l.Weights)
		addHead(l, joined)
		opt.LR = float32(p.RateAt(opt.Steps, steps))
		opt.Step(l.State, l.SpanGradient(head, joined, b, p, l.Steps))
	}})
}
