package bench

import (
	"context"
	"math"
	"testing"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestRooflineOfAHandCountedNetwork compares the least time of a dense network of 20 inputs, 7
// units and 3 outputs, batches of 5, with what was counted by hand, on a machine that the
// arithmetic bounds, on one that the memory does, and on one with a small cache.
func TestRooflineOfAHandCountedNetwork(t *testing.T) {
	m, err := models.FromLayers([]models.LayerSpec{{Type: "dense", Units: 7}, {Type: "relu"}, {Type: "dense"}},
		nn.Shape{H: 1, W: 1, C: 20}, 3)
	if err != nil {
		t.Fatal(err)
	}
	work := m.NewWorkspace().Work()
	one := func(rate float64) []Bandwidth { return []Bandwidth{{1 << 30, rate}} }
	const (
		params   = 20*7 + 7 + 7*3 + 3
		forward  = 5 * 2 * (20*7 + 7*3)
		training = 5 * 2 * (2*20*7 + 3*7*3) // no gradient of the network's input
		read     = 4 * (5*(20+7+7+3) + params)
		moved    = 4 * (5*(2*(20+7)+3*7+2*3) + 8*params)
	)
	for _, c := range []struct {
		what      string
		r         roofline
		p         nn.Precision
		optimizer string
		want      float64
		memory    bool
	}{
		{"forward, arithmetic", roofline{1, one(1e9)}, nn.FP32, "", forward, false},
		{"step, arithmetic", roofline{1, one(1e9)}, nn.FP32, momentumSGD, training, false},
		{"forward, memory", roofline{1e9, one(1)}, nn.FP32, "", read, true},
		{"forward, rounded weights", roofline{1e9, one(1)}, nn.BF16, "", read - 2*params, true},
		{"step, memory", roofline{1e9, one(1)}, nn.FP32, momentumSGD, moved, true},
		{"step in bf16, memory", roofline{1e9, one(1)}, nn.BF16, momentumSGD, moved, true},
		{"step without momentum", roofline{1e9, one(1)}, nn.FP32, plainSGD, moved - 4*2*params, true},
		{
			"step, values of a sample in a cache",
			roofline{1e9, []Bandwidth{{4 * (20 + 7), math.Inf(1)}, {1 << 30, 1}}},
			nn.FP32, momentumSGD, 4 * 8 * params, true,
		},
	} {
		got, memory := c.r.network(work, 5, c.p, c.optimizer)
		if math.Abs(got-c.want) > 1e-6*c.want || memory != c.memory {
			t.Errorf("%s: %v s, memory %t; want %v, %t", c.what, got, memory, c.want, c.memory)
		}
	}
}

// TestExplain explains a small network: its layers and the rest are the step.
func TestExplain(t *testing.T) {
	e, err := Explain(context.Background(), Config{
		Quick: true, Models: []string{"logistic"},
		Input: nn.Shape{H: 1, W: 1, C: 60}, Batch: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.Model != "logistic" || e.Batch != 4 || len(e.Layers) != 1 || e.Layers[0].Layer != "dense1" ||
		e.Layers[0].Forward <= 0 || e.Layers[0].Backward <= 0 ||
		!(e.RooflineFraction > 0 && e.RooflineFraction < 1) || e.PeakGFLOPS <= 0 || len(e.Bandwidths) != 4 {
		t.Errorf("%+v", e)
	}
	if table := e.Table(); len(table) != 3 || len(table[0]) != len(table[2]) {
		t.Errorf("table %q", table)
	}
	if _, err := Explain(context.Background(), Config{Quick: true}); err == nil {
		t.Error("two models are explained")
	}
}
