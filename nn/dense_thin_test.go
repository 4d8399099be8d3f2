package nn

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// bagBatch is a batch of n bags of words with several labels each.
func bagBatch(m *Model, n int) *Batch {
	in, out := m.Input().Size(), m.Classes()
	b := &Batch{N: n, X: make([]float32, n*in), Labels: make([]int32, n), Targets: make([]float32, n*out)}
	s := kernels.NewStream(3, 0)
	for i := range n {
		for range 1 + i%20 {
			b.X[i*in+s.IntN(in)] = s.Float32()
		}
		b.Targets[i*out+s.IntN(out)] = 1
		b.Labels[i] = int32(s.IntN(out))
	}
	return b
}

// TestThinInputs: what goes by the inputs that are not zero has the bits of what goes by
// all of them, whatever the step and the chunks.
func TestThinInputs(t *testing.T) {
	if kernels.Current() == kernels.Generic {
		t.Skip("there is no such way at this level")
	}
	logistic, err := NewModel("bags", Shape{H: 1, W: 1, C: 1100}, 37, Dense{Units: 37})
	if err != nil {
		t.Fatal(err)
	}
	if logistic, err = logistic.WithLoss(Loss{Kind: Sigmoid}); err != nil {
		t.Fatal(err)
	}
	hidden, err := NewModel("hidden", Shape{H: 1, W: 1, C: 1100}, 5, Dense{Units: 20}, ReLU{}, Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*Model{logistic, hidden} {
		b := bagBatch(m, 100)
		for name, opt := range map[string]Optimizer{
			"plain":    {SGD: SGD{LR: 0.3}},
			"decay":    {SGD: SGD{LR: 0.3, WeightDecay: 1e-2}},
			"momentum": {SGD: SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 1e-3, Nesterov: true}},
			"clipped":  {SGD: SGD{LR: 0.3, ClipNorm: 1e-3}},
			"adam":     {SGD: SGD{LR: 0.01}, Adam: Adam{On: true, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}},
		} {
			t.Run(m.Name()+" "+name, func(t *testing.T) {
				trained := func(thin bool) ([]float32, []Result) {
					ws := m.newWorkspace(64)
					s := ws.states[0].(*denseState)
					if s.thin == nil {
						t.Fatal("the layer does not look for zeros")
					}
					if !thin {
						s.thin = nil
					}
					w, o := m.NewParams(), opt
					m.Init(w, 9)
					o.Velocity, o.Second = m.NewParams(), m.NewParams()
					probe := &Displacement{Anchor: m.NewParams()}
					var results []Result
					for k, opts := range []TrainOpts{
						{Dropout: -1},
						{Dropout: -1, Only: m.Head(1)},
						{Dropout: -1, Probe: probe},
						{Dropout: -1},
					} {
						probe.Reset()
						opts.Step = uint32(k)
						results = append(results, ws.Step(w, b, opts, &o))
						if thin != (s.thin != nil && s.thin.on) {
							t.Fatal("the batch went the other way")
						}
					}
					results = append(results, ws.Evaluate(w, b), ws.Gradient(w, b, TrainOpts{Dropout: -1}))
					return append(w, ws.Grad()...), results
				}
				got, results := trained(true)
				want, plain := trained(false)
				sameBits(t, got, want, "weights and gradient")
				for i := range plain {
					if results[i] != plain[i] {
						t.Errorf("pass %d measured %+v, not %+v", i, results[i], plain[i])
					}
				}
			})
		}
	}
}

// TestThinAllocates: a step on bags of words takes no memory once it has begun.
func TestThinAllocates(t *testing.T) {
	m, err := NewModel("bags", Shape{H: 1, W: 1, C: 2000}, 20, Dense{Units: 20})
	if err != nil {
		t.Fatal(err)
	}
	w, ws, b, opt := m.NewParams(), m.NewWorkspace(), bagBatch(m, 100), &Optimizer{SGD: SGD{LR: 0.1}}
	m.Init(w, 1)
	if n := allocations(3, func() { ws.Step(w, b, TrainOpts{Dropout: -1}, opt) }); n > 0 {
		t.Errorf("%v allocations a step", n)
	}
}

// BenchmarkBags takes steps of the logistic regression for tags on bags of words, by
// the words that are there and by all of them.
func BenchmarkBags(b *testing.B) {
	m, err := NewModel("bags", Shape{H: 1, W: 1, C: 10_000}, 500, Dense{Units: 500})
	if err != nil {
		b.Fatal(err)
	}
	if m, err = m.WithLoss(Loss{Kind: Sigmoid}); err != nil {
		b.Fatal(err)
	}
	for _, way := range []string{"thin", "dense"} {
		b.Run("way="+way, func(b *testing.B) {
			w, ws, batch, opt := m.NewParams(), m.NewWorkspace(), bagBatch(m, 100), &Optimizer{SGD: SGD{LR: 1e-6}}
			if way == "dense" {
				ws.states[0].(*denseState).thin = nil
			}
			for b.Loop() {
				ws.Step(w, batch, TrainOpts{Dropout: -1}, opt)
			}
			b.ReportMetric(float64(b.N*batch.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}
