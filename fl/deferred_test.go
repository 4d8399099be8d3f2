package fl

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// atOnce is averaging whose clients look at their weights after each step, so that none
// is deferred.
func atOnce() Method {
	m := average()
	m.Local = func(l *Local) error { return l.SGD(LocalRun{Each: func(int) {}}) }
	return m
}

// wideModel has a layer wide enough to defer its steps.
func wideModel(t *testing.T, fed *data.Federation, p nn.Precision) *nn.Model {
	t.Helper()
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "conv", Filters: 16, Kernel: 5, Stride: 2, Padding: "same"},
		{Type: "relu"},
		{Type: "flatten"},
		{Type: "dense", Units: 1024},
		{Type: "relu"},
		{Type: "dense", Units: fed.Classes},
	}, nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m.WithPrecision(p)
}

// TestDeferredSteps checks that rounds whose clients defer the steps of a wide layer give
// the weights that steps at once give but for rounding, with weight decay: in bf16 as near
// to those of float32 as steps at once are, nearly. They give the same bits for any number
// of workers.
func TestDeferredSteps(t *testing.T) {
	if kernelstest.Small() {
		t.Skip("rounds of a network with a wide layer take a minute under emulation or the race detector")
	}
	fed := fltest.OpenGlyphs(t, 12, 120)
	c := hyper.DefaultClient()
	c.LR, c.Momentum, c.WeightDecay, c.Batch, c.Epochs = 0.001, 0.9, 1e-3, 3, 2
	train := func(p nn.Precision, method Method, workers int) []float32 {
		m := wideModel(t, fed, p)
		if steps := c.LocalSteps(fed.Clients[0].Train.Len()); !m.Defers(c.Batch, steps, true) {
			t.Fatalf("%d steps on batches of %d are not deferred", steps, c.Batch)
		}
		e := newEngine(t, Config{Model: m, Data: fed, Method: method, Cohort: 4, Seed: 3, Workers: workers})
		tr := e.NewTrial(0)
		runRounds(t, tr, Plan{Server: hyper.DefaultServer(), Clients: []ClientParams{c}}, 2)
		return tr.Weights()
	}
	exact := train(nn.FP32, atOnce(), 2)
	bounds := map[nn.Precision]float64{nn.FP32: 1e-4}
	if !kernelstest.Emulated() { // it takes ten minutes
		bounds[nn.BF16] = 1.2 * way(train(nn.BF16, atOnce(), 2), exact)
	}
	for p, bound := range bounds {
		got := train(p, average(), 1)
		if !slices.Equal(got, train(p, average(), 3)) {
			t.Errorf("%v: one worker and three come to different weights", p)
		}
		if off := way(got, exact); off == 0 || off > bound {
			t.Errorf("%v: deferred steps end %.3g from those at once in float32, at most %.3g would be right", p, off, bound)
		}
	}
}

// way returns the length of the way between two vectors.
func way(a, b []float32) float64 {
	var sum float64
	for i, v := range a {
		d := float64(v) - float64(b[i])
		sum += float64(d * d)
	}
	return math.Sqrt(sum)
}
