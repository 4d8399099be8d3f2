package nn

import "testing"

// TestFrozen evaluates with frozen weights, and without where others come in between, in a
// workspace that also trains.
func TestFrozen(t *testing.T) {
	check := func(t *testing.T, m *Model, batch func(n int) *Batch) {
		w, other := m.NewParams(), m.NewParams()
		m.Init(w, 3)
		m.Init(other, 4)
		ws, frozen := m.NewWorkspace(), new(Frozen)
		same := func(what string, w []float32, n int, f *Frozen) {
			t.Helper()
			b := batch(n)
			want := m.NewWorkspace().Evaluate(w, b)
			b.Frozen = f
			if got := ws.Evaluate(w, b); got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		same("first", w, 3, frozen)
		same("again", w, 4, frozen)
		step := func(ws *Workspace, clip float32) []float32 {
			w := m.NewParams()
			m.Init(w, 3)
			ws.Step(w, batch(2), TrainOpts{Only: m.Head(1)}, &Optimizer{SGD: SGD{LR: 0.3, ClipNorm: clip}})
			return w
		}
		for _, clip := range []float32{0, 0.1} {
			sameBits(t, step(ws, clip), step(m.NewWorkspace(), clip), "the head's step")
			same("after training", w, 3, frozen)
		}
		same("another slice", other, 3, frozen)
		same("the first slice", w, 3, frozen)
		m.Init(w, 5)
		same("not frozen", w, 3, nil)
		same("frozen again", w, 3, frozen)
		m.Init(w, 6)
		same("frozen anew", w, 3, new(Frozen))
	}
	for _, p := range []Precision{FP32, BF16, BF16AMX} {
		forEachNet(t, func(t *testing.T, m *Model) {
			m = m.WithPrecision(p)
			check(t, m, func(n int) *Batch { return images(m, n) })
		})
		for _, tied := range []bool{false, true} {
			last := Layer(Dense{Units: 9})
			if tied {
				last = Tied{}
			}
			m, err := NewModel("test", Shape{Seq: 6, Vocab: 9}, 9, Embedding{Dim: 32},
				LSTM{Hidden: 32, Layers: 1, EveryStep: true},
				Residual{Body: []Layer{LayerNorm{}, Attention{Heads: 2}}}, Residual{Body: []Layer{Dense{Units: 32}}}, last)
			if err != nil {
				t.Fatal(err)
			}
			m = m.WithPrecision(p)
			check(t, m, func(n int) *Batch { return sequences(m, n, false) })
		}
	}
}

// TestFrozenIsKept changes weights against the promise: they were rounded before.
func TestFrozenIsKept(t *testing.T) {
	m, err := NewModel("test", Shape{H: 1, W: 1, C: 33}, 10, Dense{Units: 40, NoBias: true}, ReLU{},
		Dense{Units: 10, NoBias: true})
	if err != nil {
		t.Fatal(err)
	}
	m = m.WithPrecision(BF16)
	w, ws, b := m.NewParams(), m.NewWorkspace(), images(m, 3)
	m.Init(w, 1)
	b.Frozen = new(Frozen)
	want := ws.Evaluate(w, b)
	m.Init(w, 2)
	if got := ws.Evaluate(w, b); got != want {
		t.Errorf("%+v, want that of the weights before, %+v", got, want)
	}
	b.Frozen = new(Frozen)
	if got := ws.Evaluate(w, b); got == want {
		t.Error("other weights measure the same")
	}
}
