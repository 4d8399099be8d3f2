package nn

import (
	"math"
	"strings"
	"testing"
)

// attentionNet is a small vision transformer.
func attentionNet(t testing.TB) *Model {
	t.Helper()
	block := func() Layer {
		return Residual{Body: []Layer{
			LayerNorm{},
			Attention{Heads: 3},
			Dropout{Rate: 0.1},
			Residual{Body: []Layer{LayerNorm{RMS: true}, Dense{Units: 50}, Activation("gelu"), Dense{Units: 21}}},
		}}
	}
	m, err := NewModel("test", Shape{H: 8, W: 10, C: 3}, 7,
		Conv2D{Filters: 21, Kernel: 2, Stride: 2}, Sequence{ClassToken: true}, Positions{}, block(), ReLU{},
		Attention{Heads: 1, Causal: true},
		Residual{Body: []Layer{Dense{Units: 21}}, Shortcut: []Layer{LayerNorm{}}}, Steps{Take: "mean"},
		Residual{Body: []Layer{LayerNorm{}, Dense{Units: 21}}}, Dense{Units: 7})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAttention holds for a transformer what other tests hold for the networks of
// forEachNet, but for the cut into chunks: sums over the rows of sequences go by time
// within a chunk.
func TestAttention(t *testing.T) {
	for name, f := range map[string]func(t *testing.T, m *Model){
		"reuse": testWorkspaceReuse, "levels": testLevels, "masked": testMasked, "allocations": testAllocations,
		"dropout": testDropout,
	} {
		t.Run(name, func(t *testing.T) { f(t, attentionNet(t)) })
	}
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		testStep(t, attentionNet(t), rule)
		testShiftAndDisplacement(t, attentionNet(t), rule)
	})
}

// tokens draws a batch of sequences with a label each.
func tokens(m *Model, n int) *Batch {
	b := &Batch{N: n, Labels: make([]int32, n)}
	for i := range n * m.Input().Seq {
		b.Tokens = append(b.Tokens, int32(i*i%7+i%3)%int32(m.Input().Vocab))
	}
	for i := range b.Labels {
		b.Labels[i] = int32(i % m.Classes())
	}
	return b
}

// TestTied checks a step of a network whose outputs are tied against its gradient and
// the optimizer's step, and the gradient's slope against the loss.
func TestTied(t *testing.T) {
	m, err := NewModel("test", Shape{Seq: 6, Vocab: 9}, 9, Embedding{Dim: 21}, Positions{},
		Attention{Heads: 3, Causal: true, MaskPadding: true}, Steps{}, Tied{})
	if err != nil {
		t.Fatal(err)
	}
	forEachRule(t, func(t *testing.T, rule Optimizer) {
		ws := m.newWorkspace(4)
		for _, n := range []int{3, 9} {
			b := tokens(m, n)
			w, anchor, w2 := m.NewParams(), m.NewParams(), m.NewParams()
			m.Init(w, 1)
			m.Init(anchor, 2)
			copy(w2, w)
			v, v2 := make([]float32, 2*m.Size()), make([]float32, 2*m.Size())
			for k := range 3 {
				want := ws.Gradient(w, b, TrainOpts{})
				rule.after(k, v, anchor).Step(w, ws.Grad())
				if got := ws.Step(w2, b, TrainOpts{}, rule.after(k, v2, anchor)); got != want {
					t.Errorf("batch %d: Step reports %+v, Gradient %+v", n, got, want)
				}
				sameBits(t, w2, w, "weights after Step")
			}
		}
	})
}

// TestAttentionErrors checks the messages of layers that cannot stand where they are.
func TestAttentionErrors(t *testing.T) {
	text, image := Shape{Seq: 6, Vocab: 9}, Shape{H: 4, W: 4, C: 3}
	conv := Conv2D{Filters: 12, Kernel: 2}
	for _, c := range []struct {
		in     Shape
		layers []Layer
		want   string
	}{
		{text, []Layer{Attention{Heads: 2}}, "layer 1 (attention): an embedding must come before attention on tokens"},
		{image, []Layer{conv, Attention{Heads: 2}}, "layer 2 (attention): attention needs a sequence as its input"},
		{
			text,
			[]Layer{Embedding{Dim: 9}, Attention{Heads: 2}},
			"layer 2 (attention): 2 heads of 9 channels; the heads must divide the channels",
		},
		{
			image,
			[]Layer{conv, Sequence{}, Residual{Body: []Layer{Attention{Heads: 2, MaskPadding: true}}}},
			"a layer with mask_padding needs tokens as the network's input",
		},
		{image, []Layer{Sequence{}}, "layer 1 (sequence): a sequence is made of the image of a convolution"},
		{image, []Layer{conv, Positions{}}, "layer 2 (positions): positions are added to a sequence of vectors"},
		{image, []Layer{conv, Steps{}}, "layer 2 (steps): steps are taken from a sequence of vectors"},
		{
			image,
			[]Layer{conv, Tied{}},
			"layer 2 (tied): the first layer of a network whose outputs are tied must be an embedding",
		},
		{
			text,
			[]Layer{Embedding{Dim: 9}, Dense{Units: 4}, Tied{}},
			"layer 3 (tied): the previous layer gives 6 steps of 4 values, the embedding has rows of 9; they must be equal",
		},
		{
			text,
			[]Layer{Residual{Body: []Layer{Embedding{Dim: 9}}}},
			"layer 1 (residual): a residual block cannot read tokens",
		},
		{
			text,
			[]Layer{Embedding{Dim: 9}, Residual{Body: []Layer{Steps{}}}},
			"layer 2 (residual): the output of the body is 1 x 1 x 9 values, of the shortcut 6 steps of 9 values; they must be equal",
		},
		{
			image,
			[]Layer{conv, Residual{Body: []Layer{Sequence{}}}},
			"layer 2 (residual): the output of the body is 9 steps of 12 values",
		},
		{
			text,
			[]Layer{Embedding{Dim: 8}, Sequence{ClassToken: true}, Reverse{}, Attention{Heads: 2, MaskPadding: true}},
			"layer 4 (attention): mask_padding needs steps in the order of the tokens",
		},
		{
			text,
			[]Layer{Embedding{Dim: 8}, Reverse{}, Sequence{ClassToken: true}, Reverse{}, Steps{MaskPadding: true}},
			"layer 5 (steps): mask_padding needs steps in the order of the tokens",
		},
		{
			text,
			[]Layer{Embedding{Dim: 8}, Image{}, Conv2D{Filters: 8, Kernel: 1}, Sequence{}, Steps{MaskPadding: true}},
			"layer 5 (steps): mask_padding needs",
		},
		{text, []Layer{
			Embedding{Dim: 8},
			Residual{Body: []Layer{Reverse{}}},
			LSTM{Hidden: 8, EveryStep: true},
			Steps{MaskPadding: true},
		}, "layer 4 (steps): mask_padding needs"},
	} {
		_, err := NewModel("test", c.in, 3, append(c.layers, Dense{Units: 3})...)
		if err == nil || !strings.HasPrefix(err.Error(), "model test: "+c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want %q", c.layers, err, c.want)
		}
	}
}

// TestAttentionInBF16 holds that attention takes the precision of the model, and that
// little changes.
func TestAttentionInBF16(t *testing.T) {
	m := attentionNet(t)
	w := m.NewParams()
	m.Init(w, 3)
	b := images(m, 9)
	want := m.NewWorkspace().Gradient(w, b, TrainOpts{}).Loss
	rounded := m.WithPrecision(BF16)
	got := rounded.NewWorkspace().Gradient(w, b, TrainOpts{}).Loss
	if d := math.Abs(got - want); d == 0 || d > 0.02*want {
		t.Errorf("loss %v in bf16, %v in float32", got, want)
	}
	sameBits(t, train(rounded, rounded.newWorkspace(4), b), train(rounded, rounded.newWorkspace(4), b), "two trainings")
}
