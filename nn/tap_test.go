package nn

import (
	"math"
	"slices"
	"testing"
)

// asideFunc adds no loss of its own.
type asideFunc func(i int, values, grad []float32, scale float32)

func (f asideFunc) Add(i int, _ int32, values, grad []float32, scale float32) float64 {
	f(i, values, grad, scale)
	return 1
}

// TestFeatures: a gradient of the logits and the one of what the last layer takes that
// follows from it go alike through the layers before; Evaluate gives what the last layer takes.
func TestFeatures(t *testing.T) {
	forEachNet(t, testFeatures)
	whole, err := NewModel("whole", Shape{H: 6, W: 6, C: 3}, 5, Conv2D{Filters: 18, Kernel: 3}, batchNorm(), ReLU{},
		MaxPool{Size: 2}, Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("whole batches", func(t *testing.T) { testFeatures(t, whole) })
}

func testFeatures(t *testing.T, m *Model) {
	n, head := m.Features(), m.Head(1)
	if n == 0 {
		t.Fatal("it has no features")
	}
	ws, b := m.NewWorkspace(), images(m, 70)
	w, _, _ := drawn(m)
	slope := func(i, class int) float32 { return float32((i+3*class)%5) - 2 }
	o := TrainOpts{Key: 7, Still: true, Aside: asideFunc(func(i int, _, grad []float32, scale float32) {
		for class := range grad {
			grad[class] += scale * slope(i, class)
		}
	})}
	r := ws.Gradient(w, b, o)
	want := slices.Clone(ws.Grad()[:head.Lo])
	seen := make([]float32, b.N*n)
	o.Aside, o.Features = nil, asideFunc(func(i int, values, grad []float32, scale float32) {
		copy(seen[i*n:], values)
		for k := range grad {
			for class := range m.Classes() {
				grad[k] += scale * slope(i, class) * w[head.Lo+packedAt(k, class, n)]
			}
		}
	})
	if again := ws.Gradient(w, b, o); math.Abs(again.Loss-r.Loss) > 1e-9 || again.Count != r.Count {
		t.Errorf("it measures %v, want %v", again, r)
	}
	for i, x := range ws.Grad()[:head.Lo] {
		if math.Abs(float64(x-want[i])) > 1e-4*(1+math.Abs(float64(want[i]))) {
			t.Fatalf("gradient %d is %v, want %v", i, x, want[i])
		}
	}
	out := slices.Clone(w)
	ws.Step(out, b, o, &Optimizer{SGD: SGD{LR: 0.5}})
	for i, g := range want {
		if want := w[i] - 0.5*g; math.Abs(float64(out[i]-want)) > 1e-4*(1+math.Abs(float64(want))) {
			t.Fatalf("a step takes weight %d to %v, want %v", i, out[i], want)
		}
	}
	b.Features = make([]float32, b.N*n)
	ws.Evaluate(w, b)
	for i, label := range b.Labels {
		if label >= 0 && m.NumBuffers() == 0 { // evaluations normalize otherwise
			sameBits(t, b.Features[i*n:][:n], seen[i*n:][:n], "what the last layer takes")
		}
	}
}
