package bench

import (
	"context"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/probe"
	"github.com/fedfast/fedfast/nn"
)

// The optimizers of training steps.
const (
	plainSGD    = "sgd"
	momentumSGD = "momentum"
)

// optimizer returns the SGD of a name. The learning rate is so low that the weights
// stay as they are: their values must not make the arithmetic faster or slower.
func optimizer(name string) nn.Optimizer {
	s := nn.Optimizer{SGD: nn.SGD{LR: 1e-6}}
	if name == momentumSGD {
		s.Momentum = 0.9
	}
	return s
}

// What the loss of a row is worth: fedfast's and PyTorch's are of as many steps at this rate.
const (
	lossSteps = 3
	lossRate  = 0.003
)

// lossOf returns the mean loss of the batch that a row repeats, with the weights that it starts
// from or, in training, after lossSteps steps on it without dropout.
func lossOf(m *nn.Model, batch int, name string) float64 {
	ws, w, b := m.NewWorkspace(), probe.Start(m), probe.RandomBatch(m, batch)
	if name != "" {
		o := optimizer(name)
		o.LR, o.Velocity = lossRate, m.NewParams()
		ws.Begin(w, batch, lossSteps, nn.TrainOpts{}, &o)
		for step := range lossSteps {
			ws.Step(w, b, nn.TrainOpts{Step: uint32(step)}, &o)
		}
		ws.End()
	}
	r := ws.Evaluate(w, b)
	return r.Loss / float64(r.Count)
}

// trainRows lists whole training steps: gradient and SGD.
func trainRows(ctx context.Context, cfg Config) ([]row, error) {
	return modelRows(ctx, cfg, func(net network, n int) []row {
		optimizers := []string{momentumSGD}
		if net.plain {
			optimizers = append(optimizers, plainSGD)
		}
		return list.Of(optimizers, func(o string) row { return stepRow(net, n, o) })
	})
}

// stepRow is a training step of a network, in PyTorch, too.
func stepRow(net network, n int, o string) row {
	_, flops := net.FLOPs()
	r := row{
		name: net.name, shape: inputText(net.Input()), batch: n, optimizer: o, samples: n, flops: int64(n) * flops,
		torch: &torchJob{op: "step", net: net, batch: n, optimizer: o},
	}
	r.steps(net.Model)
	r.lower = func(low *row, p nn.Precision) bool {
		low.steps(net.WithPrecision(p))
		return true
	}
	return r
}

// steps measures training steps of a model: one at a time, or all of a client of the suite
// fl, with what begins and ends them, where layers defer theirs.
func (r *row) steps(m *nn.Model) {
	n, o := r.batch, optimizer(r.optimizer)
	r.model = m
	steps := 1
	if most := roundSamples / n; m.Defers(n, most, o.Momentum != 0) {
		steps = most
	}
	r.parts, r.setup = steps, func() func() { return probe.TrainSteps(m, n, steps, o) }
}

// forwardRows lists evaluations.
func forwardRows(ctx context.Context, cfg Config) ([]row, error) {
	return modelRows(ctx, cfg, func(net network, n int) []row {
		flops, _ := net.FLOPs()
		r := row{
			name: net.name, shape: inputText(net.Input()), batch: n, samples: n, flops: int64(n) * flops,
			model: net.Model, setup: func() func() { return evaluation(net.Model, n) },
			torch: &torchJob{op: "forward", net: net, batch: n},
		}
		r.lower = func(low *row, p nn.Precision) bool {
			low.model = net.WithPrecision(p)
			low.setup = func() func() { return evaluation(low.model, n) }
			return true
		}
		return []row{r}
	})
}

// evaluation returns what evaluates a batch of n random examples, of many with the same weights.
func evaluation(m *nn.Model, n int) func() {
	w, ws, b := probe.Start(m), m.NewWorkspace(), probe.RandomBatch(m, n)
	b.Frozen = new(nn.Frozen)
	return func() { ws.Evaluate(w, b) }
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
