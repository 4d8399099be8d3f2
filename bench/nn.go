package bench

import (
	"context"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// The optimizers of training steps.
const (
	plainSGD    = "sgd"
	momentumSGD = "momentum"
)

// optimizer returns the SGD of a name. The learning rate is so low that the weights stay as they are: their values must not make the
// arithmetic faster or slower.
func optimizer(name string) nn.SGD {
	s := nn.SGD{LR: 1e-6}
	if name == momentumSGD {
		s.Momentum = 0.9
	}
	return s
}

// trainRows lists whole training steps: gradient and SGD.
func trainRows(ctx context.Context, cfg Config) ([]row, error) {
	return modelRows(ctx, cfg, func(net network, n int) []row {
		_, flops := net.FLOPs()
		optimizers := []string{momentumSGD}
		if net.plain {
			optimizers = append(optimizers, plainSGD)
		}
		var rows []row
		for _, o := range optimizers {
			rows = append(rows, row{
				name: net.name, shape: inputText(net.Input()), batch: n, optimizer: o, samples: n, flops: int64(n) * flops,
				setup: func() func() { return TrainStep(net.Model, n, optimizer(o)) },
				torch: &torchJob{op: "step", net: net, batch: n, optimizer: o},
			})
		}
		return rows
	})
}

// forwardRows lists evaluations.
func forwardRows(ctx context.Context, cfg Config) ([]row, error) {
	return modelRows(ctx, cfg, func(net network, n int) []row {
		flops, _ := net.FLOPs()
		return []row{{
			name: net.name, shape: inputText(net.Input()), batch: n, samples: n, flops: int64(n) * flops,
			setup: func() func() {
				w, ws, b := newWeights(net.Model), net.NewWorkspace(), randomBatch(net.Model, n)
				return func() { ws.Evaluate(w, b) }
			},
			torch: &torchJob{op: "forward", net: net, batch: n},
		}}
	})
}

// modelRows calls f for the models and batch sizes of cfg.
func modelRows(ctx context.Context, cfg Config, f func(net network, n int) []row) ([]row, error) {
	nets, err := networks(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, net := range nets {
		for _, n := range net.batches {
			rows = append(rows, f(net, n)...)
		}
	}
	return rows, nil
}

// TrainStep returns one training step of a model on n random samples, the same each time, in memory of its own. A proximal term pulls
// towards the weights themselves.
func TrainStep(m *nn.Model, n int, sgd nn.SGD) func() {
	w, v, ws, b := newWeights(m), m.NewParams(), m.NewWorkspace(), randomBatch(m, n)
	var anchor []float32
	if sgd.Mu != 0 {
		anchor = w
	}
	opt := &nn.Optimizer{SGD: sgd, Velocity: v, Anchor: anchor}
	var step uint32
	return func() {
		ws.Step(w, b, nn.TrainOpts{Key: 1, Step: step, Dropout: -1}, opt)
		step++
	}
}

func newWeights(m *nn.Model) []float32 {
	w := m.NewParams()
	m.Init(w, 1)
	return w
}

// randomBatch returns n samples with uniform inputs and labels.
func randomBatch(m *nn.Model, n int) *nn.Batch {
	s, in := kernels.NewStream(1, 2), m.Input()
	b := &nn.Batch{N: n, Labels: make([]int32, n*m.LabelsPerExample())}
	for i := range b.Labels {
		b.Labels[i] = int32(s.IntN(m.Classes()))
	}
	if in.Seq > 0 {
		b.Tokens = make([]int32, n*in.Seq)
		for i := range b.Tokens {
			b.Tokens[i] = int32(s.IntN(in.Vocab))
		}
		return b
	}
	b.X = make([]float32, n*in.Size())
	for i := range b.X {
		b.X[i] = s.Float32()
	}
	return b
}
