package nn

import (
	"math"
	"strings"
	"testing"
)

// TestLost sets the last biases to NaN: all outputs are NaN then, for any example, and no
// step brings them back; without one of them, or without biases, nothing is said.
func TestLost(t *testing.T) {
	told := false
	forEachNet(t, func(t *testing.T, m *Model) {
		w, b := m.NewParams(), batchOf(m, 3)
		m.Init(w, 1)
		ts := m.Export(w)
		last := ts[len(ts)-1]
		biased := strings.HasSuffix(last.Name, "bias")
		for i := range last.Data {
			if m.Lost(w) {
				t.Fatalf("weights are lost with %d of %d biases", i, len(last.Data))
			}
			last.Data[i] = float32(math.NaN())
			if err := m.Import(w, ts); err != nil {
				t.Fatal(err)
			}
		}
		if m.Lost(w) != biased {
			t.Fatalf("Lost is %v, the last parameter is %s", !biased, last.Name)
		}
		if !biased {
			return
		}
		told = true
		ws, anchor := m.NewWorkspace(), m.NewParams()
		for k, rule := range rules {
			ws.Step(w, b, TrainOpts{}, rule.after(k, make([]float32, 2*m.Size()), anchor))
			if r := ws.Evaluate(w, b); !m.Lost(w) || !math.IsNaN(r.Loss) {
				t.Errorf("%+v: after a step lost is %v and the loss %v", rule.SGD, m.Lost(w), r.Loss)
			}
		}
	})
	if !told {
		t.Error("no network has biases last")
	}
}
