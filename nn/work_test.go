package nn_test

import (
	"testing"
	"time"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestWorkIsThatOfTheModel adds up the layers' work: every model's multiplications and
// additions, and its trained values.
func TestWorkIsThatOfTheModel(t *testing.T) {
	for _, name := range models.Names() {
		m, err := models.New(name, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Size() > 3<<20 && testing.Short() {
			continue
		}
		var params, flops int64
		for _, w := range m.NewWorkspace().Work() {
			params, flops = params+w.Params, flops+w.FLOPs
			if w.FLOPs < 0 || w.TrainFLOPs < w.FLOPs || w.Params < 0 || w.In <= 0 && w.Kind != "embedding" || w.Out <= 0 {
				t.Errorf("%s: %+v", name, w)
			}
		}
		if forward, _ := m.FLOPs(); flops != forward || params != int64(m.NumTrainable()) {
			t.Errorf("%s: layers have %d FLOPs and %d values, the model %d and %d", name, flops, params, forward,
				m.NumTrainable())
		}
	}
}

// TestMeasuredStepsAreTheSame measures layers of a residual network: each has taken time, and
// the step has the bits of one that nobody measures.
func TestMeasuredStepsAreTheSame(t *testing.T) {
	conv := models.LayerSpec{Type: "conv", Filters: 8, Kernel: 3, Pad: 1}
	m, err := models.FromLayers([]models.LayerSpec{
		conv, {Type: "residual", Body: []models.LayerSpec{conv, {Type: "relu"}, conv}}, {Type: "avgpool"}, {Type: "dense"},
	}, nn.Shape{H: 6, W: 6, C: 3}, 4)
	if err != nil {
		t.Fatal(err)
	}
	train := func(now func() time.Duration) (*nn.Workspace, []float32) {
		ws, w := m.NewWorkspace(), m.NewParams()
		m.Init(w, 1)
		ws.Measure(now)
		b := &nn.Batch{N: 3, X: make([]float32, 3*m.Input().Size()), Labels: []int32{0, 1, 3}}
		s := kernels.NewStream(5, 0)
		for i := range b.X {
			b.X[i] = float32(s.NormFloat64())
		}
		ws.Step(w, b, nn.TrainOpts{Dropout: -1}, &nn.Optimizer{SGD: nn.SGD{LR: 0.1}})
		return ws, w
	}
	start := time.Now()
	ws, got := train(func() time.Duration { return time.Since(start) })
	_, want := train(nil)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("weight %d is %v, and %v unmeasured", i, got[i], want[i])
		}
	}
	names := []string{"conv1", "residual1.conv1", "residual1.conv2", "residual1", "avgpool1", "dense1"}
	work := ws.Work()
	var sum time.Duration
	for i, w := range work {
		if i >= len(names) || w.Layer != names[i] || w.Forward < 0 || w.Backward < 0 || w.FLOPs > 0 &&
			w.Forward+w.Backward == 0 {
			t.Errorf("layer %d: %+v", i, w)
		}
		sum += w.Forward + w.Backward
	}
	if len(work) != len(names) || sum >= time.Since(start) {
		t.Errorf("%d layers took %v in all", len(work), sum)
	}
}
