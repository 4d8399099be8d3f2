package nn

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// TestTrainable trains parts of networks: what is trainable gets the bits that it has
// when all gradients are computed and frozen parameters are put back after each step,
// and the others keep theirs.
func TestTrainable(t *testing.T) {
	cases := [][]string{{"head.*"}, {"*.bias"}, {"body.*1.weight", "head.*.weight"}, {"*"}}
	if kernelstest.Emulated() {
		cases = cases[2:3]
	}
	forEachNet(t, func(t *testing.T, whole *Model) {
		for _, patterns := range cases {
			t.Run(strings.Join(patterns, " "), func(t *testing.T) { testTrainable(t, whole, patterns) })
		}
	})
}

// TestTrainableTied does the same for a transformer whose last layer has the weights
// of its first one.
func TestTrainableTied(t *testing.T) {
	m, err := NewModel("test", Shape{Seq: 6, Vocab: 20}, 20, Embedding{Dim: 8}, Positions{},
		Residual{Body: []Layer{LayerNorm{}, Attention{Heads: 2, Causal: true}}}, Steps{}, LayerNorm{}, Tied{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"layernorm1.*", "*attention1.in*", "embedding1.*", "positions1.*"} {
		t.Run(pattern, func(t *testing.T) { testTrainable(t, m, []string{pattern}) })
	}
}

func testTrainable(t *testing.T, whole *Model, patterns []string) {
	m, err := whole.WithTrainable(patterns, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf(whole, 5)
	settings := []SGD{{LR: 0.1}, {LR: 0.1, Momentum: 0.5, Nesterov: true}, {
		LR: 0.1, Momentum: 0.9, WeightDecay: 1e-2,
		Mu: 0.1,
	}}
	if kernelstest.Emulated() {
		settings = settings[2:]
	}
	for _, o := range settings {
		w, want := m.NewParams(), m.NewParams()
		whole.Init(w, 9)
		copy(want, w)
		start := slices.Clone(w)
		ws, all := m.NewWorkspace(), whole.NewWorkspace()
		opt := &Optimizer{SGD: o, Velocity: m.NewParams(), Anchor: start}
		full := &Optimizer{SGD: o, Velocity: m.NewParams(), Anchor: start}
		for step := range 3 {
			opts := TrainOpts{Key: 4, Step: uint32(step), Dropout: -1}
			ws.Step(w, b, opts, opt)
			all.Gradient(want, b, opts)
			full.Step(want, all.Grad())
			m.Hold(want, start)
			sameBits(t, w, want, "after a step")
		}
		if m.Hold(w, start); m.Frozen() != nil && slices.Equal(w, start) {
			t.Error("nothing was trained")
		}
		sameBits(t, w, want, "after putting frozen parameters back, which were there")
		ws.Gradient(w, b, TrainOpts{})
		for _, f := range m.Frozen() {
			for _, g := range ws.Grad()[f.Lo:f.Hi] {
				if g != 0 {
					t.Fatalf("a frozen parameter has the gradient %v", g)
				}
			}
		}
	}
	_, train := m.FLOPs()
	if _, all := whole.FLOPs(); patterns[0] == "head.*" && train >= all {
		t.Errorf("a step of the head costs %d operations, one of all %d", train, all)
	}
}

// TestTrainableClips bounds the norm of the gradient of what is trained.
func TestTrainableClips(t *testing.T) {
	whole := dropoutNet(t)
	m, err := whole.WithTrainable([]string{"dense2.*"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf(whole, 5)
	w, want := m.NewParams(), m.NewParams()
	m.Init(w, 9)
	copy(want, w)
	m.NewWorkspace().Step(w, b, TrainOpts{}, &Optimizer{SGD: SGD{LR: 0.1, ClipNorm: 1e-3}})
	whole.NewWorkspace().Step(want, b, TrainOpts{Only: m.Head(1)}, &Optimizer{SGD: SGD{LR: 0.1, ClipNorm: 1e-3}})
	sameBits(t, w, want, "clipped")
}

// TestTrainablePatterns tells which parameters patterns name.
func TestTrainablePatterns(t *testing.T) {
	m := blockNet(t)
	for _, c := range []struct {
		patterns []string
		head     int
		want     int
	}{
		{[]string{"*"}, 1, m.NumParams()},
		{nil, 1, m.NumParams()},
		{[]string{"head.*"}, 1, 20*7 + 7},
		{[]string{"dense1.weight"}, 1, 20 * 7},
		{[]string{"*.bias"}, 1, 6 + 6 + 6 + 20 + 20 + 7},
		{[]string{"residual2.*conv1.*"}, 1, 20*6*9 + 20*6},
		{[]string{"residual2.shortcut.*.weight"}, 1, 20*6 + 20},
		{[]string{"body.*", "head.*"}, 2, m.NumParams()},
	} {
		frozen, err := m.WithTrainable(c.patterns, c.head)
		if err != nil {
			t.Fatal(err)
		}
		if n := frozen.NumTrainable(); n != c.want {
			t.Errorf("%q trains %d parameters; want %d", c.patterns, n, c.want)
		}
	}
	_, err := m.WithTrainable([]string{"*", "dense9.*"}, 1)
	if want := `"dense9.*" matches no parameter of model test; the parameters are conv1.weight, `; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v; want it to begin with %s", err, want)
	}
}
