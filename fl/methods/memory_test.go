package methods

import (
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestMemory compares what trainings are expected to take with what they hold after
// rounds, an evaluation and a snapshot. How many results wait for others is chance.
func TestMemory(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	model, err := models.FromLayers([]models.LayerSpec{
		{Type: "dense", Units: 1024},
		{Type: "relu"},
		{Type: "dense", Units: fed.Classes},
	}, nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	var stats runtime.MemStats
	heap := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for _, name := range []string{
		"fedavg", "reptile", "fedadam", "fednova", "scaffold", "ditto", "feddyn",
		"fedrep", "pfedme", "maml",
	} {
		m, err := fl.MethodByName(name)
		if err != nil {
			t.Fatal(err)
		}
		client, server := m.Defaults()
		client.LR, client.Batch = 0.01, 8
		cfg := fl.Config{Model: model, Data: fed, Method: m, Cohort: 6, Seed: 1, Workers: 2, Momentum: true}
		before := heap()
		e, err := fl.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		tr := e.NewTrial(0)
		plan := fl.Plan{Clients: []fl.ClientParams{client}, Server: server}
		for range 2 {
			if _, err := tr.Round(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
			Clients: plan.Clients,
			State:   tr.State(),
		}); err != nil {
			t.Fatal(err)
		}
		s := tr.Snapshot()
		took, want := heap()-before, cfg.Memory()
		runtime.KeepAlive(s)
		runtime.KeepAlive(tr)
		e.Close()
		if took < want-want/4 || took > want+want/4 {
			t.Errorf("%s: a training takes %d bytes, %d were expected (%.1f of %.1f vectors)", name, took, want,
				float64(took)/4/float64(model.Size()), float64(want)/4/float64(model.Size()))
		}
	}
}
