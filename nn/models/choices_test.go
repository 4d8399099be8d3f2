package models

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// one returns a choice of a key.
func one(key string, options ...int) map[string]LayerChoice {
	return map[string]LayerChoice{key: {Choices: options}}
}

// chosenLayers are layers with choices of every kind, and the same ones as the whole
// network has them, written out.
func chosenLayers() (specs, whole []LayerSpec) {
	conv := LayerSpec{Type: "conv", Filters: 32, Kernel: 1}
	dw := LayerSpec{Type: "depthwise", Kernel: 5, Padding: "same"}
	block := []LayerSpec{{Type: "conv", Filters: 48, Kernel: 1}, {Type: "hardswish"}, dw, conv}
	whole = []LayerSpec{
		{Type: "conv", Filters: 32, Kernel: 3, Padding: "same", Stride: 2},
		{Type: "groupnorm", Groups: 4},
		{Type: "residual", Body: block},
		{Type: "residual", Body: block},
		{Type: "relu"},
		{Type: "residual", Body: []LayerSpec{conv}},
		{Type: "squeeze", Units: 8},
		{Type: "avgpool"},
		{Type: "dense", Units: 24},
		{Type: "relu"},
		{Type: "dense"},
	}
	stem, norm, last := whole[0], whole[1], conv
	stem.Filters, stem.Choices = 0, one("filters", 16, 32)
	norm.Groups, norm.Choices = 0, one("groups", 2, 4)
	last.Filters, last.Choices = 0, map[string]LayerChoice{"filters": {As: "conv1.filters"}}
	dw.Kernel, dw.Choices = 0, one("kernel", 3, 5)
	within := []LayerSpec{{Type: "conv", Kernel: 1, Choices: one("filters", 16, 32, 48)}, {Type: "hardswish"}, dw, last}
	specs = []LayerSpec{
		stem, norm,
		{Type: "residual", Body: within, Choices: one("depth", 1, 2)},
		{Type: "relu"},
		{Type: "residual", Body: []LayerSpec{last}, Optional: true},
		whole[6], whole[7],
		{Type: "dense", Choices: one("units", 8, 24)},
		{Type: "relu"},
		{Type: "dense"},
	}
	return specs, whole
}

// TestChoicesOfLayers compares a network of layers with choices with that of the
// largest ones, to the bit, and its sub-networks with parts of it.
func TestChoicesOfLayers(t *testing.T) {
	specs, whole := chosenLayers()
	input := nn.Shape{H: 12, W: 12, C: 3}
	m, err := FromLayers(specs, input, 5)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range m.Choices() {
		names = append(names, c.Name)
	}
	const want = "conv1.filters groupnorm1.groups residual1.depth residual1.conv1.filters residual1.depthwise1.kernel residual3.on dense1.units"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("choices %s, want %s", got, want)
	}
	plain, err := FromLayers(whole, input, 5)
	if err != nil {
		t.Fatal(err)
	}
	step := func(m *nn.Model) ([]nn.Tensor, []float32) {
		w, x := m.NewParams(), make([]float32, 3*12*12*3)
		for i := range x {
			x[i] = float32(math.Sin(float64(i)))
		}
		m.Init(w, 3)
		ws := m.NewWorkspace()
		ws.Gradient(w, &nn.Batch{N: 3, X: x, Labels: []int32{0, 1, 2}}, nn.TrainOpts{})
		return m.Export(w), ws.Grad()
	}
	ours, g := step(m)
	theirs, h := step(plain)
	for i, p := range theirs {
		if ours[i].Name != p.Name || len(ours) != len(theirs) {
			t.Fatalf("parameter %d is %s, written out %s", i, ours[i].Name, p.Name)
		}
	}
	for i := range h {
		if len(g) != len(h) || math.Float32bits(g[i]) != math.Float32bits(h[i]) {
			t.Fatalf("gradient %d is %v, written out %v", i, g[i], h[i])
		}
	}
	sub, err := m.Sub(map[string]int{
		"conv1.filters": 16, "groupnorm1.groups": 2, "residual1.depth": 1,
		"residual1.conv1.filters": 32, "residual1.depthwise1.kernel": 3, "residual3.on": 0, "dense1.units": 8,
	})
	if err != nil {
		t.Fatal(err)
	}
	var shapes []string
	for _, p := range sub.Export(sub.NewParams()) {
		if strings.HasSuffix(p.Name, ".weight") {
			shapes = append(shapes, p.Name)
		}
	}
	if got := strings.Join(shapes,
		" "); got != "conv1.weight groupnorm1.weight residual1.conv1.weight residual1.depthwise1.weight residual1.conv2.weight squeeze1.fc1.weight squeeze1.fc2.weight dense1.weight dense2.weight" {
		t.Errorf("a sub-network has %s", got)
	}
	// The middle of a kernel, and the first channels.
	w := m.NewParams()
	for i := range w {
		w[i] = float32(i)
	}
	at, err := m.Places().Of(sub)
	if err != nil {
		t.Fatal(err)
	}
	cut := sub.NewParams()
	for i, from := range at {
		if from >= 0 {
			cut[i] = w[from]
		}
	}
	big, small := tensorOf(t, m.Export(w), "residual1.depthwise1.weight"),
		tensorOf(t, sub.Export(cut), "residual1.depthwise1.weight")
	if big.Data[31*25+6] != small.Data[31*9] || big.Data[5*25+18] != small.Data[5*9+8] {
		t.Errorf("a kernel's corners are %v and %v", small.Data[31*9], small.Data[5*9+8])
	}
}

func tensorOf(t *testing.T, all []nn.Tensor, name string) nn.Tensor {
	t.Helper()
	for _, x := range all {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no parameter %s", name)
	return nn.Tensor{}
}

// TestWrongChoices: one line says where and what would be right.
func TestWrongChoices(t *testing.T) {
	same := LayerSpec{Type: "conv", Filters: 16, Kernel: 3, Padding: "same"}
	with := func(s LayerSpec, key string, options ...int) LayerSpec {
		s.Choices = one(key, options...)
		return s
	}
	left := same
	left.Optional = true
	left.Name, left.Input = "a", inputName
	for _, c := range []struct {
		layers []LayerSpec
		want   string
	}{
		{
			[]LayerSpec{with(same, "filters", 32, 16)},
			"model.layers[1] (conv): filters = { choices = [32, 16] }: choices must be two or more integers in ascending order",
		},
		{[]LayerSpec{with(same, "filters", 16)}, "two or more"},
		{[]LayerSpec{with(same, "filters", 0, 16)}, "they must be from 1 to 1048576"},
		{
			[]LayerSpec{with(same, "stride", 1, 2)},
			"stride = { choices = [1, 2] }: of this type's keys filters, kernel, groups can have choices",
		},
		{[]LayerSpec{with(same, "kernel", 3, 4)}, "all odd or all even"},
		{[]LayerSpec{with(LayerSpec{Type: "conv", Filters: 16}, "kernel", 3, 5)}, `padding must be "same"`},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Choices: map[string]LayerChoice{"filters": {As: "x"}}}},
			`filters = { as = "x" }: no layer above has this choice; available: none`,
		},
		{[]LayerSpec{left}, "optional and depth are for layers one after the other"},
		{
			[]LayerSpec{
				with(same, "filters", 16, 32),
				{Type: "residual", Body: []LayerSpec{{Type: "conv", Filters: 32, Kernel: 1}}},
			},
			"model.layers with conv1.filters = 16: model layers: layer 2 (residual)",
		},
		{
			[]LayerSpec{with(same, "filters", 16, 32), {Type: "sequence"}, {Type: "attention", Heads: 2}, {Type: "steps"}},
			"model.layers with conv1.filters = 16: attention1.in_proj_weight has other rows: attention can have no choice of the width that it reads",
		},
	} {
		_, err := FromLayers(append(c.layers, LayerSpec{Type: "dense"}), nn.Shape{H: 8, W: 8, C: 3}, 5)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
