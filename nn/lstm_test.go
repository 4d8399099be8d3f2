package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// lstmCase is a small sequence model with its reference.
type lstmCase struct {
	name   string
	vocab  int
	ref    lstmReference
	layers []Layer
	batch  int
	mask   bool // some labels masked
}

var lstmCases = []lstmCase{
	{
		name: "torch, two layers, last step, more than a chunk", vocab: 9, batch: lstmChunk + 3,
		ref: lstmReference{seq: 5, embed: 3, hidden: 7, padding: 0, biases: 2, layers: 2, denses: 1},
		layers: []Layer{
			Embedding{Dim: 3, ZeroPadding: true},
			LSTM{Hidden: 7, Layers: 2},
			Dense{Units: 4},
		},
	},
	{
		name: "tensorflow, two layers, last step", vocab: 6, batch: 3,
		ref: lstmReference{seq: 4, embed: 8, hidden: 17, padding: -1, biases: 1, forget: 1, layers: 2, denses: 1},
		layers: []Layer{
			Embedding{Dim: 8, Init: InitGlorot},
			LSTM{Hidden: 17, Layers: 2, OneBias: true, ForgetBias: 1, Init: InitGlorot},
			Dense{Units: 5},
		},
	},
	{
		name: "projection, every step, masked", vocab: 11, batch: 4, mask: true,
		ref: lstmReference{seq: 6, embed: 5, hidden: 18, padding: 0, biases: 1, every: true, layers: 1, denses: 2},
		layers: []Layer{
			Embedding{Dim: 5, ZeroPadding: true},
			LSTM{Hidden: 18, OneBias: true, EveryStep: true},
			Dense{Units: 6},
			Dense{Units: 11},
		},
	},
	{
		name: "gated recurrent units, two layers, last step, more than a chunk", vocab: 9, batch: lstmChunk + 3,
		ref: lstmReference{seq: 5, embed: 3, hidden: 17, padding: 0, gru: true, layers: 2, denses: 1},
		layers: []Layer{
			Embedding{Dim: 3, ZeroPadding: true},
			GRU{Hidden: 17, EveryStep: true},
			GRU{Hidden: 17},
			Dense{Units: 4},
		},
	},
	{
		name: "gated recurrent units, every step, masked", vocab: 11, batch: 4, mask: true,
		ref:    lstmReference{seq: 6, embed: 20, hidden: 7, padding: -1, gru: true, every: true, layers: 1, denses: 1},
		layers: []Layer{Embedding{Dim: 20}, GRU{Hidden: 7, EveryStep: true, Init: InitKeras}, Dense{Units: 11}},
	},
}

func (c lstmCase) model(t testing.TB) *Model {
	t.Helper()
	classes := c.layers[len(c.layers)-1].(Dense).Units
	m, err := NewModel("test", Shape{Seq: c.ref.seq, Vocab: c.vocab}, classes, c.layers...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sequences draws a batch; token 0 and, if mask, label -1 are among them.
func sequences(m *Model, n int, mask bool) *Batch {
	s := kernels.NewStream(3, 1)
	b := &Batch{N: n}
	for range n * m.Input().Seq {
		b.Tokens = append(b.Tokens, int32(s.IntN(m.Input().Vocab)))
	}
	b.Tokens[0] = 0
	for i := range n * m.LabelsPerExample() {
		label := int32(s.IntN(m.Classes()))
		if mask && i%3 == 1 {
			label = -1
		}
		b.Labels = append(b.Labels, label)
	}
	return b
}

// TestLSTMGradient compares loss and gradients with those of a float64 network
// written apart.
func TestLSTMGradient(t *testing.T) {
	for _, c := range lstmCases {
		t.Run(c.name, func(t *testing.T) {
			m := c.model(t)
			w := m.NewParams()
			m.Init(w, 5)
			b := sequences(m, c.batch, c.mask)
			ref := newLSTMReference(c.ref, m.Export(w))
			loss, slopes := ref.loss(b), slopeTable{}
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				ws := m.NewWorkspace()
				r := ws.Gradient(w, b, TrainOpts{})
				if math.Abs(r.Loss/float64(r.Count)-loss) > 1e-6 {
					t.Errorf("mean loss %.9f, want %.9f", r.Loss/float64(r.Count), loss)
				}
				slopes.compare(t, m.Export(ws.Grad()), 60, 2e-5, func(p, e int) float64 { return ref.slope(b, p, e) })
				checkPadding(t, m, ws.Grad())
			})
		})
	}
}

// checkPadding sees to it that no padding value of a packed vector is set.
func checkPadding(t *testing.T, m *Model, w []float32) {
	t.Helper()
	clean := m.NewParams()
	if err := m.Import(clean, m.Export(w)); err != nil {
		t.Fatal(err)
	}
	for i, v := range clean {
		if v != w[i] {
			t.Fatalf("packed value %d is %v; without padding it is %v", i, w[i], v)
		}
	}
}

// TestLSTMPadding checks that the row of the padding token stays zero.
func TestLSTMPadding(t *testing.T) {
	m := lstmCases[0].model(t)
	w := m.NewParams()
	m.Init(w, 5)
	ws := m.NewWorkspace()
	b := sequences(m, 4, false)
	ws.Gradient(w, b, TrainOpts{})
	(&Optimizer{SGD: SGD{LR: 0.1, WeightDecay: 0.1}}).Step(w, ws.Grad())
	table := m.Export(w)[0]
	for k, v := range table.Data[:3] {
		if v != 0 {
			t.Errorf("value %d of the padding row is %v after a step, want 0", k, v)
		}
	}
}

// TestLSTMLevels checks that all levels give the same bits, with dropout
// between the layers and batches of one chunk and of several.
func TestLSTMLevels(t *testing.T) {
	m, err := NewModel("test", Shape{Seq: 7, Vocab: 13}, 13,
		Embedding{Dim: 8, ZeroPadding: true}, LSTM{Hidden: 40, Layers: 2, Dropout: 0.3}, Dense{Units: 13})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 5, 2*lstmChunk + 3} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			b := sequences(m, n, false)
			var first []float32
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				w := m.NewParams()
				m.Init(w, 9)
				ws := m.NewWorkspace()
				for k := range 3 {
					ws.Gradient(w, b, TrainOpts{Key: 4, Step: uint32(k), Dropout: -1})
					(&Optimizer{SGD: SGD{LR: 0.5}}).Step(w, ws.Grad())
				}
				if first == nil {
					first = w
					return
				}
				for i, v := range w {
					if math.Float32bits(v) != math.Float32bits(first[i]) {
						t.Fatalf("weight %d is %v, on the first level %v", i, v, first[i])
					}
				}
			})
		})
	}
}

// TestLSTMDropout checks that the rate of the options replaces the model's, that
// evaluation drops nothing, and that the mask depends on the key.
func TestLSTMDropout(t *testing.T) {
	m, err := NewModel("test", Shape{Seq: 4, Vocab: 7}, 3,
		Embedding{Dim: 4}, LSTM{Hidden: 16, Layers: 2, Dropout: 0.5}, Dense{Units: 3})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 2)
	ws := m.NewWorkspace()
	b := sequences(m, 6, false)
	loss := func(o TrainOpts) float64 { return ws.Gradient(w, b, o).Loss }
	plain := ws.Evaluate(w, b).Loss
	if got := loss(TrainOpts{Dropout: 0}); got != plain {
		t.Errorf("loss without dropout %v, in evaluation %v", got, plain)
	}
	dropped := loss(TrainOpts{Dropout: -1, Key: 1})
	if dropped == plain {
		t.Error("the model's own dropout changes nothing")
	}
	if again := loss(TrainOpts{Dropout: -1, Key: 1}); again != dropped {
		t.Errorf("the same key gives losses %v and %v", dropped, again)
	}
	if other := loss(TrainOpts{Dropout: -1, Key: 2}); other == dropped {
		t.Error("another key gives the same mask")
	}
	// The gradient must belong to the same mask as the loss: a small step along
	// it has to lower the loss by its squared norm.
	o := TrainOpts{Dropout: -1, Key: 1}
	loss(o)
	g := append([]float32(nil), ws.Grad()...)
	const h = 1e-2
	square := kernels.Dot(g, g) * float64(b.N)
	kernels.Axpy(w, -h, g)
	down := loss(o)
	kernels.Axpy(w, 2*h, g)
	up := loss(o)
	if got := (up - down) / (2 * h); math.Abs(got-square) > 2e-3*square {
		t.Errorf("slope along the gradient %v, want its square %v", got, square)
	}
}

// TestLSTMAllocations checks that training and evaluation allocate nothing.
func TestLSTMAllocations(t *testing.T) {
	c := lstmCases[2]
	m := c.model(t)
	w, v := m.NewParams(), m.NewParams()
	m.Init(w, 1)
	ws := m.NewWorkspace()
	b := sequences(m, lstmChunk+2, c.mask)
	step := func() {
		ws.Gradient(w, b, TrainOpts{Dropout: 0.2})
		(&Optimizer{SGD: SGD{LR: 0.1, Momentum: 0.9}, Velocity: v, Steps: 1}).Step(w, ws.Grad())
		ws.Evaluate(w, b)
	}
	step()
	if n := allocations(3, step); n != 0 {
		t.Errorf("a step allocates %v times, want 0", n)
	}
}

// TestLSTMBind checks the errors for networks that cannot be.
func TestLSTMBind(t *testing.T) {
	tokens, image := Shape{Seq: 4, Vocab: 5}, Shape{H: 2, W: 2, C: 1}
	for _, c := range []struct {
		in     Shape
		layers []Layer
		want   string
	}{
		{tokens, []Layer{LSTM{Hidden: 4}}, "model m: layer 1 (lstm): an embedding must come before an LSTM on tokens"},
		{image, []Layer{LSTM{Hidden: 4}}, "model m: layer 1 (lstm): an LSTM needs a sequence as its input"},
		{
			image,
			[]Layer{Embedding{Dim: 4}},
			"model m: layer 1 (embedding): an embedding must be the first layer, on an input of tokens",
		},
		{tokens, []Layer{Embedding{}}, "model m: layer 1 (embedding): the width of an embedding must be at least 1"},
		{tokens, []Layer{Embedding{Dim: 4}, LSTM{}}, "model m: layer 2 (lstm): the hidden size must be at least 1"},
		{
			tokens,
			[]Layer{Embedding{Dim: 4}, LSTM{Hidden: 3, Layers: -1}},
			"model m: layer 2 (lstm): layers must be at least 1",
		},
		{
			tokens,
			[]Layer{Embedding{Dim: 4}, LSTM{Hidden: 3, Dropout: 1}},
			"model m: layer 2 (lstm): dropout rate 1; it must be at least 0 and below 1",
		},
	} {
		_, err := NewModel("m", c.in, 3, c.layers...)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %q", c.layers, err, c.want)
		}
	}
}
