package models

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/nn"
)

func sqrt(x float64) float64 { return math.Sqrt(x) }

// decode reads [[layers]] tables.
func decode(t *testing.T, text string) []LayerSpec {
	t.Helper()
	var f struct{ Layers []LayerSpec }
	meta, err := toml.Decode(text, &f)
	if err != nil {
		t.Fatal(err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		t.Fatalf("keys that no layer knows: %v", extra)
	}
	return f.Layers
}

// resNet writes a residual network with two blocks for each number of channels, of
// which all but the first begin with a stride of 2.
func resNet(channels ...int) string {
	const norm = "type = \"groupnorm\"\ngroups = 2\n"
	var b strings.Builder
	conv := func(at string, filters, kernel, pad, stride int) {
		fmt.Fprintf(&b, "[[%s]]\ntype = \"conv\"\nfilters = %d\nkernel = %d\nstride = %d\nno_bias = true\n", at, filters,
			kernel, stride)
		if pad > 0 {
			fmt.Fprintf(&b, "pad = %d\n", pad)
		}
		fmt.Fprintf(&b, "[[%s]]\n%s", at, norm)
	}
	relu := func(at string) { fmt.Fprintf(&b, "[[%s]]\ntype = \"relu\"\n", at) }
	conv("layers", channels[0], 3, 1, 1)
	relu("layers")
	for i, filters := range channels {
		for block := range 2 {
			stride := 1
			if i > 0 && block == 0 {
				stride = 2
			}
			b.WriteString("[[layers]]\ntype = \"residual\"\n")
			conv("layers.body", filters, 3, 1, stride)
			relu("layers.body")
			conv("layers.body", filters, 3, 1, 1)
			if stride > 1 {
				conv("layers.shortcut", filters, 1, 0, stride)
			}
			relu("layers")
		}
	}
	b.WriteString("[[layers]]\ntype = \"avgpool\"\n[[layers]]\ntype = \"dense\"\n")
	return b.String()
}

// TestFromLayersComposesNamed composes named models and expects the same
// initial weights, to the bit.
func TestFromLayersComposesNamed(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"resnet18-gn", resNet(64, 128, 256, 512)},
		{"fedex-cifar-cnn", `
			[[layers]]
			type = "conv"
			filters = 32
			kernel = 3
			padding = "same"
			[[layers]]
			type = "relu"
			[[layers]]
			type = "maxpool"
			size = 2
			[[layers]]
			type = "conv"
			filters = 64
			kernel = 3
			padding = "same"
			stride = 1
			[[layers]]
			type = "relu"
			[[layers]]
			type = "maxpool"
			size = 2
			stride = 2
			[[layers]]
			type = "conv"
			filters = 64
			kernel = 3
			padding = "same"
			[[layers]]
			type = "relu"
			[[layers]]
			type = "maxpool"
			size = 2
			[[layers]]
			type = "flatten"
			[[layers]]
			type = "dropout"
			rate = 0.0
			[[layers]]
			type = "dense"
			units = 64
			[[layers]]
			type = "relu"
			[[layers]]
			type = "dropout"
			rate = 0.0
			[[layers]]
			type = "dense"`},
		{"leaf-char-lstm", `
			[[layers]]
			type = "embedding"
			size = 8
			init = "glorot"
			[[layers]]
			type = "lstm"
			hidden = 256
			layers = 2
			output = "last"
			biases = 1
			init = "glorot"
			[[layers]]
			type = "dense"
			units = 80
			init = "glorot"`},
	} {
		named, err := New(c.name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := FromLayers(decode(t, c.text), named.Input(), named.Classes())
		if err != nil {
			t.Fatal(err)
		}
		want, got := named.NewParams(), m.NewParams()
		named.Init(want, 3)
		m.Init(got, 3)
		if len(got) != len(want) {
			t.Fatalf("%s composed has size %d, want %d", c.name, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s composed differs at packed weight %d", c.name, i)
			}
		}
	}
}

// tinyNWP has the shape of so-nwp-lstm: a projection between the LSTM and the
// output at every step.
const tinyNWP = `
	[[layers]]
	type = "embedding"
	size = 6
	zero_padding = true
	[[layers]]
	type = "lstm"
	hidden = 10
	output = "every"
	biases = 1
	[[layers]]
	type = "dense"
	units = 6
	[[layers]]
	type = "dense"`

// tinySmooth has the layers of small mobile networks and what else treats each pixel
// alone.
const tinySmooth = `
	[[layers]]
	type = "conv"
	filters = 18
	kernel = 3
	padding = "same"
	[[layers]]
	type = "layernorm"
	[[layers]]
	type = "gelu"
	[[layers]]
	type = "depthwise"
	kernel = 3
	dilation = 2
	pad = 2
	[[layers]]
	type = "silu"
	[[layers]]
	type = "residual"
	[[layers.body]]
	type = "rmsnorm"
	[[layers.body]]
	type = "conv"
	filters = 18
	kernel = 1
	[[layers.body]]
	type = "gelu"
	approximate = "tanh"
	[[layers.body]]
	type = "squeeze"
	units = 6
	[[layers]]
	type = "depthwise"
	kernel = 5
	stride = 2
	pad = 2
	no_bias = true
	[[layers]]
	type = "hardsigmoid"
	[[layers]]
	type = "avgpool"
	[[layers]]
	type = "dense"
	units = 30
	[[layers]]
	type = "tanh"
	[[layers]]
	type = "dense"
	units = 20
	[[layers]]
	type = "sigmoid"
	[[layers]]
	type = "layernorm"
	[[layers]]
	type = "dense"
	units = 12
	[[layers]]
	type = "hardswish"
	[[layers]]
	type = "dense"
`

// tinyNormal has the normalisations and pools that tinyNWP and the CIFAR networks
// of FedEx do not have.
const tinyNormal = `
	[[layers]]
	type = "conv"
	filters = 9
	kernel = 3
	padding = "same"
	[[layers]]
	type = "relu"
	[[layers]]
	type = "lrn"
	radius = 2
	alpha = 3
	[[layers]]
	type = "maxpool"
	size = 3
	stride = 2
	padding = "same"
	[[layers]]
	type = "conv"
	filters = 18
	kernel = 3
	padding = "same"
	[[layers]]
	type = "groupnorm"
	groups = 3
	[[layers]]
	type = "relu"
	[[layers]]
	type = "lrn"
	radius = 1
	bias = 2.0
	alpha = 0.5
	beta = 0.5
	[[layers]]
	type = "maxpool"
	size = 2
	[[layers]]
	type = "avgpool"
	[[layers]]
	type = "dense"`

// TestFromLayersNextWord trains a tiny next-word model with masked positions.
func TestFromLayersNextWord(t *testing.T) {
	m, err := FromLayers(decode(t, tinyNWP), nn.Shape{Seq: 5, Vocab: 14}, 14)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.NumParams(), 14*6+4*10*(6+10+1)+(10+1)*6+(6+1)*14; got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
	b := torchBatch(m, 3)
	if len(b.Labels) != 15 {
		t.Fatalf("%d labels, want one a step", len(b.Labels))
	}
	b.Labels[3], b.Labels[4], b.Labels[14] = -1, -1, -1
	w := m.NewParams()
	m.Init(w, 1)
	ws := m.NewWorkspace()
	before := ws.Evaluate(w, b)
	if before.Count != 12 {
		t.Errorf("%d labels counted, want 12", before.Count)
	}
	for range 200 {
		ws.Step(w, b, nn.TrainOpts{}, &nn.Optimizer{SGD: nn.SGD{LR: 0.5}})
	}
	if after := ws.Evaluate(w, b); after.Correct != 12 || after.Loss > before.Loss/5 {
		t.Errorf("after 200 steps %d of 12 right, loss %v from %v", after.Correct, after.Loss, before.Loss)
	}
}

func TestFromLayersErrors(t *testing.T) {
	rate := func(r float64) *float64 { return &r }
	dense := LayerSpec{Type: "dense", Units: 3}
	image, text := nn.Shape{H: 8, W: 8, C: 1}, nn.Shape{Seq: 4, Vocab: 9}
	for _, c := range []struct {
		specs []LayerSpec
		input nn.Shape
		want  string
	}{
		{nil, image, "model.layers is empty"},
		{[]LayerSpec{{Type: "convolution"}}, image, `model.layers[1]: unknown type "convolution"; available: ` +
			strings.Join(LayerNames(), ", ")},
		{[]LayerSpec{{Type: "conv", Kernel: 3}, dense}, image, `model.layers[1] (conv): key "filters" is missing`},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: -4}, dense},
			image,
			"model.layers[1] (conv): filters = -4; it must be at least 1",
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4, Padding: "full"}, dense},
			image,
			`model.layers[1] (conv): padding = "full"; it must be valid or same`,
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4, Units: 4}, dense},
			image,
			`model.layers[1] (conv): key "units" does not belong to this type; it takes filters, kernel, width, padding, pad, no_bias, stride, groups, dilation, init`,
		},
		{
			[]LayerSpec{{Type: "dense", Units: 5}, {Type: "relu", Size: 2}, dense},
			image,
			`model.layers[2] (relu): key "size" does not belong to this type; it takes no keys`,
		},
		{[]LayerSpec{{Type: "dense"}, dense}, image, `model.layers[1] (dense): key "units" is missing`},
		{
			[]LayerSpec{{Type: "leakyrelu", Slope: rate(1.5)}, dense},
			image,
			`model.layers[1] (leakyrelu): slope = 1.5; it must be in [0, 1]`,
		},
		{[]LayerSpec{{Type: "dropout"}, dense}, image, `model.layers[1] (dropout): key "rate" is missing`},
		{
			[]LayerSpec{{Type: "dropout", Rate: rate(1)}, dense},
			image,
			"model.layers[1] (dropout): rate = 1; it must be at least 0 and below 1",
		},
		{
			[]LayerSpec{{Type: "embedding", Size: 2}, {Type: "lstm", Hidden: 3, Biases: 3}, dense},
			text,
			"model.layers[2] (lstm): biases = 3; it must be 1 or 2",
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4}, {Type: "lrn", Radius: 2}, dense},
			image,
			`model.layers[2] (lrn): key "alpha" is missing`,
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4}, {Type: "lrn", Radius: 2, Alpha: rate(1), Beta: rate(0.3)}, dense},
			image, "model layers: layer 2 (lrn): beta 0.3; it must be 0.25, 0.5, 0.75 or 1",
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4}, {Type: "groupnorm", Groups: 3}, dense},
			image,
			"model layers: layer 2 (groupnorm): 3 groups of 4 channels; the groups must divide the channels",
		},
		{
			[]LayerSpec{{Type: "maxpool", Size: 3, Padding: "full"}, dense},
			image,
			`model.layers[1] (maxpool): padding = "full"; it must be valid or same`,
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4, Padding: "same", Pad: 1}, dense},
			image,
			"model.layers[1] (conv): padding and pad are both given; only one of them can be",
		},
		{[]LayerSpec{{Type: "residual"}, dense}, image, `model.layers[1] (residual): key "body" is missing`},
		{
			[]LayerSpec{{Type: "dense", Units: 5, Body: []LayerSpec{dense}}, dense},
			image,
			`model.layers[1] (dense): key "body" does not belong to this type; it takes units, no_bias, init`,
		},
		{
			[]LayerSpec{{Type: "residual", Body: []LayerSpec{{Type: "relu"}, {Type: "dense"}}}, dense},
			image,
			`model.layers[1].body[2] (dense): key "units" is missing`,
		},
		{
			[]LayerSpec{{Type: "residual", Body: []LayerSpec{{Type: "relu"}}, Shortcut: []LayerSpec{{Type: "pool"}}}, dense},
			image, `model.layers[1].shortcut[1]: unknown type "pool"; available: `,
		},
		{
			[]LayerSpec{{Type: "conv", Kernel: 3, Filters: 4}, {Type: "residual", Body: []LayerSpec{dense}}, dense},
			image,
			"model layers: layer 2 (residual): the output of the body is 1 x 1 x 3 values, of the shortcut 6 x 6 x 4 values; they must be equal",
		},
		{[]LayerSpec{{Type: "lstm", Hidden: 3}, dense}, image, "model layers: layer 1 (lstm): "},
		{[]LayerSpec{{Type: "conv", Kernel: 9, Filters: 4}, dense}, image, "model layers: layer 1 (conv): "},
		{[]LayerSpec{{Type: "dense", Units: 4}}, image, "model layers: the last layer gives"},
		{
			[]LayerSpec{{Type: "dense", Units: 3, Tensors: []string{"kernel = w"}}},
			image,
			`model layers: layer 1 (dense): tensors: "kernel" is no parameter of the layer with a name; write PARAMETER = NAME, or PARAMETER = NAME 1x17x64`,
		},
		{
			[]LayerSpec{{Type: "dense", Units: 3, Tensors: []string{"weight"}}},
			image,
			`model layers: layer 1 (dense): tensors: "weight" is no parameter`,
		},
		{
			[]LayerSpec{dense, {Type: "tanh", Tensors: []string{"weight = w"}}, dense},
			image,
			`model layers: layer 2 (tanh): tensors: "weight" is no parameter`,
		},
		{
			[]LayerSpec{{Type: "dense", Units: 3, Tensors: []string{"weight = w 64x4"}}},
			image,
			"model.layers[1] (dense): tensors: w has the shape [64 4]; it must be one of as many values as [3 64]",
		},
		{
			[]LayerSpec{{Type: "dense", Units: 3, Tensors: []string{"weight = w threex64"}}},
			image,
			"model.layers[1] (dense): tensors: w has the shape [0 64]",
		},
		{
			[]LayerSpec{{Type: "dense", Units: 3, Tensors: []string{"weight = w", "bias = w"}}},
			image,
			`model layers: two parameters are called "w"`,
		},
	} {
		_, err := FromLayers(c.specs, c.input, 3)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
}

// TestTensorsOfLayers gives parameters other names and shapes in files, which patterns know,
// too, and which change neither training nor sub-networks.
func TestTensorsOfLayers(t *testing.T) {
	layers := func(tensors ...string) []LayerSpec {
		return []LayerSpec{
			{Type: "conv", Filters: 4, Kernel: 1, Width: 3, Tensors: tensors},
			{Type: "relu"},
			{Type: "dense", Units: 3},
		}
	}
	in := nn.Shape{H: 1, W: 8, C: 2}
	plain, err := FromLayers(layers(), in, 3)
	if err != nil {
		t.Fatal(err)
	}
	m, err := FromLayers(layers("weight = body.0 4x2x3", "bias = shift"), in, 3)
	if err != nil {
		t.Fatal(err)
	}
	w, same := m.NewParams(), plain.NewParams()
	m.Init(w, 1)
	plain.Init(same, 1)
	ts := m.ExportFolded(w)
	if !slices.Equal(w, same) || ts[0].Name != "body.0" || !slices.Equal(ts[0].Shape, []int{4, 2, 3}) ||
		ts[1].Name != "shift" || ts[2].Name != "dense1.weight" {
		t.Fatalf("tensors %v", ts)
	}
	back := m.NewParams()
	if err := m.ImportFolded(back, ts); err != nil || !slices.Equal(back, w) {
		t.Fatal("what came back is not what went out:", err)
	}
	if some, err := m.WithTrainable([]string{"body.0"}, 1); err != nil || some.NumTrainable() != 4*2*3 {
		t.Fatal("the pattern trains other parameters:", err)
	}
	small, err := m.Narrow(0.5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Places().Of(small); err != nil {
		t.Fatal(err)
	}
	if got := small.Export(small.NewParams())[0]; got.Name != "body.0" || !slices.Equal(got.Shape, []int{2, 2, 1, 3}) {
		t.Fatalf("a sub-network has %v", got)
	}
}

// TestWithInit fills in the initialisation of layers that take one and have none.
func TestWithInit(t *testing.T) {
	specs := []LayerSpec{
		{Type: "conv", Filters: 2, Kernel: 1},
		{
			Type: residual, Body: []LayerSpec{{Type: "conv", Filters: 2, Kernel: 1}, {Type: "relu"}},
			Shortcut: []LayerSpec{{Type: "conv", Filters: 2, Kernel: 1, Init: "keras"}},
		},
		{Type: "dense"},
	}
	got := WithInit(specs, "haiku")
	if got[0].Init != "haiku" || got[1].Init != "" || got[1].Body[0].Init != "haiku" || got[1].Body[1].Init != "" ||
		got[1].Shortcut[0].Init != "keras" || got[2].Init != "haiku" {
		t.Errorf("got %+v", got)
	}
	if specs[0].Init != "" || specs[1].Body[0].Init != "" {
		t.Errorf("the caller's own layers were changed: %+v", specs)
	}
	if _, err := FromLayers(got, nn.Shape{H: 4, W: 4, C: 1}, 3); err != nil {
		t.Error(err)
	}
}
