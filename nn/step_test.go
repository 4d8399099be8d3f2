package nn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// dropoutNet is a small convolutional network with two dropout layers.
func dropoutNet(t testing.TB) *Model {
	t.Helper()
	m, err := NewModel("test", Shape{H: 10, W: 9, C: 1}, 7,
		Conv2D{Filters: 6, Kernel: 3, Same: true}, ReLU{}, MaxPool{Size: 2},
		Conv2D{Filters: 20, Kernel: 3}, ReLU{}, MaxPool{Size: 2}, Dropout{Rate: 0.25}, Flatten{},
		Dense{Units: 33}, ReLU{}, Dropout{Rate: 0.5}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// blockNet is a small network of the layers that dropoutNet lacks.
func blockNet(t testing.TB) *Model {
	t.Helper()
	m, err := NewModel("test", Shape{H: 11, W: 10, C: 3}, 7,
		Conv2D{Filters: 6, Kernel: 3, Same: true}, ReLU{}, MaxPool{Size: 3, Stride: 2, Same: true},
		LRN{Radius: 2, Bias: 1, Alpha: 0.1, Beta: 0.75},
		Residual{Body: []Layer{
			Conv2D{Filters: 6, Kernel: 3, Pad: 1, NoBias: true},
			GroupNorm{Groups: 2},
			ReLU{},
			Dropout{Rate: 0.2},
			Conv2D{Filters: 6, Kernel: 3, Pad: 1},
		}}, ReLU{},
		Residual{
			Body: []Layer{
				Conv2D{Filters: 20, Kernel: 3, Stride: 2, Pad: 1, NoBias: true},
				GroupNorm{Groups: 4},
				Dropout{Rate: 0.3},
			},
			Shortcut: []Layer{Conv2D{Filters: 20, Kernel: 1, Stride: 2, NoBias: true}, GroupNorm{Groups: 2}, Dropout{Rate: 0.1}},
		},
		AvgPool{}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// forEachNet runs f with all four networks.
func forEachNet(t *testing.T, f func(t *testing.T, m *Model)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { f(t, dropoutNet(t)) })
	t.Run("blocks", func(t *testing.T) { f(t, blockNet(t)) })
	t.Run("winograd", func(t *testing.T) { f(t, winogradNet(t)) })
	t.Run("smooth", func(t *testing.T) { f(t, smoothNet(t)) })
	t.Run("series", func(t *testing.T) { f(t, seriesNet(t)) })
}

// train takes some steps and returns the weights after them.
func train(m *Model, ws *Workspace, b *Batch) []float32 {
	w, v := m.NewParams(), m.NewParams()
	m.Init(w, 9)
	anchor := m.NewParams()
	copy(anchor, w)
	opt := &Optimizer{SGD: SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 1e-3, Mu: 0.1}, Velocity: v, Anchor: anchor}
	for k := range 3 {
		ws.Gradient(w, b, TrainOpts{Key: 4, Step: uint32(k), Dropout: -1})
		opt.Step(w, ws.Grad())
	}
	return w
}

func sameBits(t *testing.T, got, want []float32, what string) {
	t.Helper()
	for i, v := range want {
		if math.Float32bits(v) != math.Float32bits(got[i]) {
			t.Fatalf("%s: weight %d is %v, want %v", what, i, got[i], v)
		}
	}
}

// TestChunks checks that the size of a chunk does not show in the weights.
func TestChunks(t *testing.T) { forEachNet(t, testChunks) }

func testChunks(t *testing.T, m *Model) {
	sizes := []int{1, 7, 23}
	if kernelstest.Small() {
		sizes = sizes[1:2]
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		sizes := sizes
		if kernels.Current() == kernels.Generic { // slow, and its drivers belong to other levels
			sizes = []int{7}
		}
		for _, n := range sizes {
			b := images(m, n)
			want := train(m, m.newWorkspace(n), b)
			for _, chunk := range []int{1, 2, 5, 16, n - 1, m.chunk()} {
				if chunk > 0 {
					sameBits(t, train(m, m.newWorkspace(chunk), b), want, fmt.Sprintf("batch %d in chunks of %d", n, chunk))
				}
			}
		}
	})
}

// rules are settings of optimizers of every kind.
var rules = []Optimizer{
	{SGD: SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 1e-3, Mu: 0.1}},
	{SGD: SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 1e-3, Mu: 0.1, Nesterov: true}},
	{SGD: SGD{LR: 0.3, Momentum: 0.9, WeightDecay: 1e-3, Mu: 0.1, ClipNorm: 0.1}},
	{SGD: SGD{LR: 0.3, Momentum: 0.9, Nesterov: true, ClipNorm: 0.1}},
	{SGD: SGD{LR: 0.01, WeightDecay: 1e-3, Mu: 0.1}, Adam: Adam{On: true, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}},
	{SGD: SGD{LR: 0.01, WeightDecay: 0.1, Mu: 0.1, ClipNorm: 0.1}, Adam: Adam{
		On: true, Decoupled: true, Beta1: 0.8,
		Beta2: 0.99, Eps: 1e-3,
	}},
}

// forEachRule runs f with each of them.
func forEachRule(t *testing.T, f func(t *testing.T, rule Optimizer)) {
	t.Helper()
	for _, r := range rules {
		t.Run(fmt.Sprintf("%+v adam=%v", r.SGD, r.Adam.On), func(t *testing.T) { f(t, r) })
	}
}

// after returns an optimizer of these settings that has taken some steps. A state
// may be the velocity or both moments.
func (o Optimizer) after(steps int, state, anchor []float32) *Optimizer {
	o.Velocity, o.Anchor, o.Steps = state, anchor, steps
	if o.Adam.On {
		n := len(state) / 2
		o.Velocity, o.Second = state[:n], state[n:]
	}
	return &o
}

// TestStep checks that Step gives the weights, velocity and result that Gradient
// and Optimizer.Step give, with batches of one chunk and of several, and without
// labels.
func TestStep(t *testing.T) {
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		forEachNet(t, func(t *testing.T, m *Model) { testStep(t, m, rule) })
	})
}

func testStep(t *testing.T, m *Model, rule Optimizer) {
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		sizes := []int{1, 4, 11}
		if kernelstest.Emulated() || kernels.Current() == kernels.Generic {
			sizes = []int{5}
		}
		for _, n := range sizes {
			ws := m.newWorkspace(4)
			w, v, anchor := m.NewParams(), make([]float32, 2*m.Size()), m.NewParams()
			m.Init(w, 1)
			m.Init(anchor, 2)
			w2, v2 := slices.Clone(w), slices.Clone(v)
			b := images(m, n)
			for k := range 4 {
				if k == 3 {
					b.Labels = slices.Repeat([]int32{-1}, n)
				}
				o := TrainOpts{Key: 5, Step: uint32(k), Dropout: -1}
				want := ws.Gradient(w, b, o)
				rule.after(k, v, anchor).Step(w, ws.Grad())
				if got := ws.Step(w2, b, o, rule.after(k, v2, anchor)); got != want {
					t.Errorf("batch %d: Step reports %+v, Gradient %+v", n, got, want)
				}
				sameBits(t, w2, w, "weights after Step")
				sameBits(t, v2, v, "state after Step")
			}
		}
	})
}

// TestWorkspaceReuse checks that what a workspace did before does not show.
func TestWorkspaceReuse(t *testing.T) { forEachNet(t, testWorkspaceReuse) }

func testWorkspaceReuse(t *testing.T, m *Model) {
	used := m.NewWorkspace()
	train(m, used, images(m, 40))
	b := images(m, 6)
	sameBits(t, train(m, used, b), train(m, m.NewWorkspace(), b), "used workspace")
}

// TestLevels checks that all levels give the same weights.
func TestLevels(t *testing.T) { forEachNet(t, testLevels) }

func testLevels(t *testing.T, m *Model) {
	b := images(m, 13)
	var first []float32
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		w := train(m, m.NewWorkspace(), b)
		if first == nil {
			first = w
		}
		sameBits(t, w, first, kernels.Current().String())
	})
}

// TestMasked checks that a batch without a label gives a zero gradient.
func TestMasked(t *testing.T) { forEachNet(t, testMasked) }

func testMasked(t *testing.T, m *Model) {
	ws := m.NewWorkspace()
	w := m.NewParams()
	m.Init(w, 1)
	b := images(m, 3)
	ws.Gradient(w, b, TrainOpts{})
	for i := range b.Labels {
		b.Labels[i] = -1
	}
	if r := ws.Gradient(w, b, TrainOpts{}); r != (Result{}) {
		t.Errorf("a batch without labels gives %+v", r)
	}
	for i, g := range ws.Grad() {
		if g != 0 {
			t.Fatalf("gradient %d is %v without labels", i, g)
		}
	}
}

// TestDropout checks the dropout layers: the rates of the options replace the
// model's, evaluation drops nothing, the mask depends on key and step, and the
// gradient belongs to the mask of its loss.
func TestDropout(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testDropout(t, dropoutNet(t)) })
	t.Run("blocks", func(t *testing.T) { testDropout(t, blockNet(t)) })
}

func testDropout(t *testing.T, m *Model) {
	w := m.NewParams()
	m.Init(w, 2)
	ws := m.NewWorkspace()
	b := images(m, 6)
	loss := func(o TrainOpts) float64 { return ws.Gradient(w, b, o).Loss }
	plain := ws.Evaluate(w, b).Loss
	if got := loss(TrainOpts{Dropout: 0}); got != plain {
		t.Errorf("loss without dropout %v, in evaluation %v", got, plain)
	}
	own := TrainOpts{Dropout: -1, Key: 1}
	dropped := loss(own)
	if dropped == plain || dropped != loss(own) {
		t.Errorf("losses %v with the model's dropout, %v again, %v without", dropped, loss(own), plain)
	}
	for _, o := range []TrainOpts{{Dropout: -1, Key: 2}, {Dropout: -1, Key: 1, Step: 1}, {Dropout: 0.3, Key: 1}} {
		if loss(o) == dropped {
			t.Errorf("%+v gives the same loss as %+v", o, own)
		}
	}
	loss(own)
	g := append([]float32(nil), ws.Grad()...)
	const h = 1e-3
	square := kernels.Dot(g, g) * 4 // the loss is a sum over 4 labels
	kernels.Axpy(w, -h, g)
	down := loss(own)
	kernels.Axpy(w, 2*h, g)
	up := loss(own)
	if got := (up - down) / (2 * h); math.Abs(got-square) > 5e-3*square {
		t.Errorf("slope along the gradient %v, want its square %v", got, square)
	}
}

// TestAllocations checks that training and evaluation allocate nothing.
func TestAllocations(t *testing.T) { forEachNet(t, testAllocations) }

// allocations returns what a call of f allocates, of several measurements the least: the
// runtime's own allocations count, too, and on a busy machine a measurement has some.
func allocations(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	for i := 0; i < 4 && n > 0; i++ {
		n = min(n, testing.AllocsPerRun(runs, f))
	}
	return n
}

func testAllocations(t *testing.T, m *Model) {
	w, v, second := m.NewParams(), m.NewParams(), m.NewParams()
	m.Init(w, 1)
	ws := m.newWorkspace(4)
	b, few := images(m, 10), images(m, 4)
	probe := &Displacement{Anchor: m.NewParams()}
	step := func() {
		ws.Step(w, few, TrainOpts{Probe: probe}, &Optimizer{SGD: SGD{LR: 0.1}, Steps: 1})
		ws.Gradient(w, b, TrainOpts{Dropout: -1})
		(&Optimizer{SGD: SGD{LR: 0.1, Momentum: 0.9}, Velocity: v, Steps: 1}).Step(w, ws.Grad())
		ws.Step(w, b, TrainOpts{Dropout: 0.1}, &Optimizer{SGD: SGD{LR: 0.1, Momentum: 0.9}, Velocity: v, Steps: 1})
		ws.Step(w, few, TrainOpts{}, &Optimizer{
			SGD: SGD{LR: 0.1, Momentum: 0.9, Nesterov: true, ClipNorm: 0.1}, Velocity: v,
			Steps: 1,
		})
		ws.Step(w, few, TrainOpts{}, &Optimizer{
			SGD: SGD{LR: 0.1}, Adam: Adam{On: true, Eps: 1e-8}, Velocity: v,
			Second: second,
		})
		ws.Evaluate(w, b)
	}
	step()
	if n := allocations(3, step); n != 0 {
		t.Errorf("a step allocates %v times, want 0", n)
	}
}

// TestRight checks, chunk by chunk, which labels an evaluation says were right,
// against evaluations of each label alone.
func TestRight(t *testing.T) {
	m, err := NewModel("test", Shape{Seq: 5, Vocab: 4}, 4, Embedding{Dim: 3}, LSTM{Hidden: 6, EveryStep: true},
		Dense{Units: 4})
	if err != nil {
		t.Fatal(err)
	}
	const n = 7
	b := &Batch{N: n, Tokens: make([]int32, 5*n), Labels: make([]int32, 5*n)}
	for i := range b.Tokens {
		b.Tokens[i], b.Labels[i] = int32(i*i%4), int32(i%5)-1
	}
	w := m.NewParams()
	m.Init(w, 2)
	want := m.newWorkspace(3).Evaluate(w, b)
	if want.Correct == 0 || want.Correct == want.Count {
		t.Fatalf("%+v tells nothing", want)
	}
	one := *b
	b.Right = slices.Repeat([]bool{true}, 5*n)
	if got := m.newWorkspace(3).Evaluate(w, b); got != want {
		t.Errorf("with Right it measures %+v, without %+v", got, want)
	}
	for i, l := range b.Labels {
		one.Labels = slices.Repeat([]int32{-1}, 5*n)
		one.Labels[i] = l
		if alone := m.newWorkspace(n).Evaluate(w, &one); b.Right[i] != (alone.Correct == 1) {
			t.Errorf("label %d of class %d: right is %v, alone %+v", i, l, b.Right[i], alone)
		}
	}
}
