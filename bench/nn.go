package bench

import (
	"strings"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// trainRows lists whole training steps: gradient and SGD with momentum and weight decay.
func trainRows(cfg Config) ([]row, error) {
	return modelRows(cfg, func(m *nn.Model, n int) row {
		_, flops := m.FLOPs()
		return row{
			name: m.Name(), shape: "train,momentum", batch: n, samples: n, flops: int64(n) * flops,
			setup: func() func() { return trainStep(m, n) },
		}
	})
}

// forwardRows lists evaluations.
func forwardRows(cfg Config) ([]row, error) {
	return modelRows(cfg, func(m *nn.Model, n int) row {
		flops, _ := m.FLOPs()
		return row{
			name: m.Name(), shape: "forward", batch: n, samples: n, flops: int64(n) * flops,
			setup: func() func() {
				w, ws, b := newWeights(m), m.NewWorkspace(), randomBatch(m, n)
				return func() { ws.Evaluate(w, b) }
			},
		}
	})
}

// modelRows calls f for the models and batch sizes of cfg.
func modelRows(cfg Config, f func(m *nn.Model, n int) row) ([]row, error) {
	names := cfg.Models
	if len(names) == 0 {
		names = models.Names()
	}
	var rows []row
	for _, name := range names {
		m, err := models.New(name, models.Options{})
		if err != nil {
			return nil, err
		}
		for _, n := range batches(cfg, m) {
			rows = append(rows, f(m, n))
		}
	}
	return rows, nil
}

// batches returns the batch sizes to measure m at: those that its papers train it with, and larger ones.
func batches(cfg Config, m *nn.Model) []int {
	switch {
	case cfg.Batch > 0:
		return []int{cfg.Batch}
	case cfg.Quick:
		return []int{10}
	case m.Input().Seq > 0:
		return []int{8, 10, 16, 64}
	case strings.Contains(m.Name(), "cifar"):
		return []int{20, 50}
	}
	return []int{10, 20, 64}
}

// trainStep returns one step on random samples, the same each time. The learning rate is so low that the weights stay as they are:
// their values must not make the arithmetic faster or slower.
func trainStep(m *nn.Model, n int) func() {
	w, v, ws, b := newWeights(m), m.NewParams(), m.NewWorkspace(), randomBatch(m, n)
	sgd := nn.SGD{LR: 1e-6, Momentum: 0.9, WeightDecay: 1e-4}
	var step uint32
	return func() {
		ws.Step(w, b, nn.TrainOpts{Key: 1, Step: step, Dropout: -1}, sgd, v, nil, step == 0)
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
