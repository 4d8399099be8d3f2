package models

import (
	"cmp"
	"testing"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// torchLoss is the loss of a job.
type torchLoss struct {
	Kind      nn.LossKind `json:"kind"`
	Smoothing float64     `json:"smoothing"`
	Delta     float64     `json:"delta"`
	Weights   []float64   `json:"weights"`
	Targets   []float32   `json:"targets"`
}

func newTorchLoss(m *nn.Model, b *nn.Batch) torchLoss {
	l := m.Loss()
	huber, _ := l.Options.(nn.HuberOptions)
	return torchLoss{cmp.Or(l.Kind, nn.CrossEntropy), l.Smoothing, huber.Delta, l.Weights, b.Targets}
}

// TestLossStepsMatchTorch is TestStepsMatchTorch for the other losses.
func TestLossStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	weights := []float64{1, 0.5, 2, 0, 3}
	for name, l := range map[string]nn.Loss{
		"smoothed":           {Smoothing: 0.1},
		"weighted":           {Weights: weights},
		"smoothed, weighted": {Smoothing: 0.3, Weights: weights},
		"sigmoid":            {Kind: nn.Sigmoid},
		"sigmoid, weighted":  {Kind: nn.Sigmoid, Weights: weights},
		"squared":            {Kind: nn.Squared},
		"huber":              {Kind: nn.Huber, Options: nn.HuberOptions{Delta: 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := FromLayers(decode(t, tinyNormal), nn.Shape{H: 11, W: 12, C: 3}, 5)
			if err != nil {
				t.Fatal(err)
			}
			if m, err = m.WithLoss(l); err != nil {
				t.Fatal(err)
			}
			b := torchBatch(m, 5)
			if s := kernels.NewStream(8, 0); l.Targets() {
				for range b.N * m.Classes() {
					if y := float32(s.NormFloat64()); l.Numbers() {
						b.Targets = append(b.Targets, y)
					} else {
						b.Targets = append(b.Targets, float32(s.IntN(2)))
					}
				}
			}
			compareSteps(t, python, m, normalOps, b, momentum(0.1))
		})
	}
}

// TestMaskedLossStepsMatchTorch does the same for labels at every step, some of them
// masked.
func TestMaskedLossStepsMatchTorch(t *testing.T) {
	python := findTorch(t)
	m, b := nextWord(t)
	weights := make([]float64, m.Classes())
	for i := range weights {
		weights[i] = 1 / float64(1+i)
	}
	m, err := m.WithLoss(nn.Loss{Smoothing: 0.1, Weights: weights})
	if err != nil {
		t.Fatal(err)
	}
	compareSteps(t, python, m, nextWordOps, b, momentum(0.1))
}
