package main

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// network has the layer after a convolution and after a dense layer, and the loss.
func network(t *testing.T, loss nn.Loss) *nn.Model {
	t.Helper()
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "conv", Filters: 5, Kernel: 3},
		{Type: "prelu", Options: map[string]any{"start": 0.4}},
		{Type: "dense", Units: 6},
		{Type: "prelu"},
		{Type: "dense"},
	}, nn.Shape{H: 6, W: 5, C: 2}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.WithLoss(loss); err != nil {
		t.Fatal(err)
	}
	return m
}

// draw fills values from [-1, 1).
func draw(x []float32, key uint64) []float32 {
	s := kernels.NewStream(key, 0)
	for i := range x {
		x[i] = 2*s.Float32() - 1
	}
	return x
}

func batch(m *nn.Model) *nn.Batch {
	const n = 7
	b := &nn.Batch{N: n, X: draw(make([]float32, n*m.Input().Size()), 1), Labels: make([]int32, n)}
	for i := range b.Labels {
		b.Labels[i] = int32(i % m.Classes())
	}
	return b
}

// TestGradient compares gradients with differences of the loss.
func TestGradient(t *testing.T) {
	for name, loss := range map[string]nn.Loss{
		"cross_entropy":   {},
		"focal":           {Kind: "focal", Options: focal{Gamma: 1.5}},
		"focal, weighted": {Kind: "focal", Weights: []float64{1, 0.5, 3, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			m := network(t, loss)
			ws, b, w := m.NewWorkspace(), batch(m), m.NewParams()
			m.Init(w, 3)
			if err := ws.CheckGradient(w, b); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAllocations wants none in a step.
func TestAllocations(t *testing.T) {
	m := network(t, nn.Loss{Kind: "focal"})
	ws, b, w := m.NewWorkspace(), batch(m), m.NewParams()
	m.Init(w, 3)
	opt := &nn.Optimizer{SGD: nn.SGD{LR: 0.01}}
	if n := testing.AllocsPerRun(20, func() { ws.Step(w, b, nn.TrainOpts{Dropout: -1}, opt) }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

// TestNarrow cuts the slopes with the channels.
func TestNarrow(t *testing.T) {
	m := network(t, nn.Loss{Kind: "focal"})
	half, err := m.Narrow(0.5)
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]int{}
	for _, p := range half.Export(half.NewParams()) {
		shapes[p.Name] = p.Shape[0]
	}
	if shapes["prelu1.weight"] != 3 || shapes["prelu2.weight"] != 3 {
		t.Errorf("sub-network %v", shapes)
	}
	if _, err := m.Places().Of(half); err != nil {
		t.Error(err)
	}
}
