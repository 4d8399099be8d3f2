package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// TestExport checks the canonical shapes, names and count, and that Import takes
// what Export gave, in any order.
func TestExport(t *testing.T) {
	m := dropoutNet(t)
	w := m.NewParams()
	m.Init(w, 3)
	ts := m.Export(w)
	want := []struct {
		name  string
		shape []int
	}{
		{"conv1.weight", []int{6, 1, 3, 3}},
		{"conv1.bias", []int{6}},
		{"conv2.weight", []int{20, 6, 3, 3}},
		{"conv2.bias", []int{20}},
		{"dense1.weight", []int{33, 20 * 1 * 1}},
		{"dense1.bias", []int{33}},
		{"dense2.weight", []int{7, 33}},
		{"dense2.bias", []int{7}},
	}
	count := 0
	for i, tt := range ts {
		if tt.Name != want[i].name || !slices.Equal(tt.Shape, want[i].shape) {
			t.Errorf("tensor %d is %s %v, want %s %v", i, tt.Name, tt.Shape, want[i].name, want[i].shape)
		}
		count += len(tt.Data)
	}
	if len(ts) != len(want) || m.NumParams() != count || count != 60+1100+693+238 {
		t.Errorf("%d tensors with %d values, NumParams %d", len(ts), count, m.NumParams())
	}
	slices.Reverse(ts)
	back := m.NewParams()
	if err := m.Import(back, ts); err != nil {
		t.Fatal(err)
	}
	sameBits(t, back, w, "imported")
}

// TestImportErrors checks that every problem is named and nothing is changed.
func TestImportErrors(t *testing.T) {
	m := dropoutNet(t)
	w := m.NewParams()
	m.Init(w, 3)
	before := slices.Clone(w)
	ts := m.Export(w)
	ts[0].Shape = []int{6, 3, 3, 1}
	ts[1].Name = "conv1.beta"
	ts[3] = ts[2]
	err := m.Import(w, ts)
	for _, want := range []string{
		"model test: tensor conv1.weight has shape [6 3 3 1] and 54 values; it must have [6 1 3 3]",
		"model test: tensor conv1.bias is missing",
		"model test: tensor conv2.weight is given twice",
		"model test: tensor conv1.beta is unknown",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Import reports %v; want %q among it", err, want)
		}
	}
	sameBits(t, w, before, "after a failed import")
}

// TestImportNames: the table of the embedding may be there twice where the output is tied to
// it, and what is to be done about other names is said.
func TestImportNames(t *testing.T) {
	m, err := NewModel("test", Shape{Seq: 4, Vocab: 5}, 5, Embedding{Dim: 3}, LSTM{Hidden: 3, EveryStep: true}, Tied{})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 3)
	ts := m.Export(w)
	again := Tensor{Name: "head.weight", Shape: ts[0].Shape, Data: slices.Clone(ts[0].Data)}
	got := m.NewParams()
	if err := m.Import(got, append(slices.Clone(ts), again)); err != nil {
		t.Fatal(err)
	}
	sameBits(t, got, w, "with the table twice")
	clear(got)
	if err := m.Import(got, append(slices.Clone(ts[1:]), again)); err != nil {
		t.Fatal(err)
	}
	sameBits(t, got, w, "with the table by the output's name alone")
	again.Data[2]++
	other := slices.Clone(ts)
	for i := range other {
		other[i].Name = "module." + other[i].Name
	}
	for want, given := range map[string][]Tensor{
		`tensor head.weight is unknown; the output is tied to the embedding, whose table this is not; leave it out: del state["head.weight"]`: append(slices.Clone(ts), again),
		`tensor more is unknown; the network has no such layer; leave it out: del state["more"]`:                                              append(slices.Clone(ts), Tensor{Name: "more", Shape: []int{1}, Data: []float32{1}}),
		`there is module.embedding1.weight: save {k.removeprefix("module."): v for k, v in state.items()}`:                                    other,
	} {
		if err := m.Import(got, given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Import reports %v; want %q", err, want)
		}
	}
}

// TestInit checks the distributions of the initial weights, that the same key
// gives the same values, and that every tensor has draws of its own.
func TestInit(t *testing.T) {
	for _, c := range []struct {
		name         string
		init         Init
		limit, bias  float64 // largest value of the weight and of the bias
		deviation    float64
		in, out, len int
	}{
		{"torch", InitTorch, 1 / math.Sqrt(400), 1 / math.Sqrt(400), 1 / math.Sqrt(400*3), 400, 100, 40000},
		{"glorot", InitGlorot, math.Sqrt(6. / 500), 0, math.Sqrt(2. / 500), 400, 100, 40000},
		{"haiku", InitHaiku, 2 / math.Sqrt(400), 0, 0.8796 / math.Sqrt(400), 400, 100, 40000},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := NewModel("test", Shape{H: 1, W: 1, C: c.in}, c.out, Dense{Units: c.out, Init: c.init})
			if err != nil {
				t.Fatal(err)
			}
			w := m.NewParams()
			m.Init(w, 7)
			ts := m.Export(w)
			var square, most float64
			for _, v := range ts[0].Data {
				square += float64(v) * float64(v)
				most = max(most, math.Abs(float64(v)))
			}
			if got := math.Sqrt(square / float64(c.len)); math.Abs(got-c.deviation) > 0.02*c.deviation {
				t.Errorf("deviation %v, want %v", got, c.deviation)
			}
			if most > c.limit*1.000001 || most < 0.98*c.limit {
				t.Errorf("largest weight %v, want just below %v", most, c.limit)
			}
			var bias float64
			for _, v := range ts[1].Data {
				bias = max(bias, math.Abs(float64(v)))
			}
			if bias > c.bias*1.000001 || bias < 0.9*c.bias {
				t.Errorf("largest bias %v, want just below %v", bias, c.bias)
			}
			again := m.NewParams()
			m.Init(again, 7)
			sameBits(t, again, w, "same key")
			m.Init(again, 8)
			if slices.Equal(again, w) {
				t.Error("another key gives the same weights")
			}
		})
	}
	m, err := NewModel("test", Shape{H: 1, W: 1, C: 16}, 16, Dense{Units: 16}, Dense{Units: 16})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 1)
	if ts := m.Export(w); slices.Equal(ts[0].Data, ts[2].Data) {
		t.Error("two tensors of one shape start with the same values")
	}
}

// TestNewModelErrors checks the errors for networks that cannot be.
func TestNewModelErrors(t *testing.T) {
	image, vector, tokens := Shape{H: 6, W: 5, C: 1}, Shape{H: 1, W: 1, C: 4}, Shape{Seq: 3, Vocab: 9}
	conv2 := Conv2D{Filters: 2, Kernel: 2}
	for _, c := range []struct {
		in     Shape
		layers []Layer
		want   string
	}{
		{
			Shape{},
			nil,
			"model m: input shape with H 0, W 0, C 0, Seq 0, Vocab 0: an image or vector has H, W and C of at least 1 and no Vocab",
		},
		{
			Shape{Seq: 3},
			nil,
			"model m: input shape with H 0, W 0, C 0, Seq 3, Vocab 0: a sequence of tokens has Seq and Vocab only",
		},
		{vector, nil, "model m: the last layer gives 1 x 1 x 4 values; 3 classes need 1 x 1 x 3 from a dense layer"},
		{
			vector,
			[]Layer{Dense{Units: 2}},
			"model m: the last layer gives 1 x 1 x 2 values; 3 classes need 1 x 1 x 3 from a dense layer",
		},
		{vector, []Layer{Dense{}}, "model m: layer 1 (dense): 0 units; must be at least 1"},
		{vector, []Layer{Dense{Units: 3, Init: 9}}, "model m: layer 1 (dense): unknown initialization 9"},
		{
			tokens,
			[]Layer{Dense{Units: 3}},
			"model m: layer 1 (dense): a dense layer cannot read tokens; an embedding must come before",
		},
		{
			tokens,
			[]Layer{Conv2D{Filters: 3, Kernel: 1}},
			"model m: layer 1 (conv): a convolution needs an image as its input",
		},
		{image, []Layer{Conv2D{Kernel: 1}}, "model m: layer 1 (conv): 0 filters; must be at least 1"},
		{image, []Layer{Conv2D{Filters: 1}}, "model m: layer 1 (conv): kernel 0 x 0, stride 1; all must be at least 1"},
		{
			image,
			[]Layer{Conv2D{Filters: 1, Kernel: 6}},
			"model m: layer 1 (conv): kernel 6 x 6 on an image of 6 x 5; a valid convolution needs the image to be as large",
		},
		{
			image,
			[]Layer{MaxPool{Size: 2}},
			"model m: layer 1 (pool): a max-pool needs the image of a convolution as its input",
		},
		{image, []Layer{ReLU{}}, "model m: layer 1 (relu): a ReLU cannot be the first layer"},
		{image, []Layer{Dropout{}}, "model m: layer 1 (dropout): a dropout cannot be the first layer"},
		{
			image,
			[]Layer{Conv2D{Filters: 1, Kernel: 2}, ReLU{}, MaxPool{Size: 5}},
			"model m: layer 3 (pool): size 5 on an image of 5 x 4; the image must be as large",
		},
		{
			image,
			[]Layer{Conv2D{Filters: 1, Kernel: 2, Same: true, Pad: 1}},
			"model m: layer 1 (conv): padding 1 with a kernel of 2 x 2; it must be less than the kernel, and 0 where the padding is \"same\"",
		},
		{
			image,
			[]Layer{Conv2D{Filters: 1, Kernel: 3, Pad: 3}},
			"model m: layer 1 (conv): padding 3 with a kernel of 3 x 3; it must be less than the kernel, and 0 where the padding is \"same\"",
		},
		{
			image,
			[]Layer{AvgPool{}},
			"model m: layer 1 (avgpool): an average pool needs the image of a convolution as its input",
		},
		{image, []Layer{conv2, AvgPool{Size: -1}}, "model m: layer 2 (avgpool): size -1, stride 0; neither may be negative"},
		{
			image,
			[]Layer{conv2, AvgPool{Size: 5}},
			"model m: layer 2 (avgpool): size 5 on an image of 5 x 4; the image must be as large",
		},
		{
			image,
			[]Layer{LRN{Bias: 1, Beta: 1}},
			"model m: layer 1 (lrn): a local response normalisation needs the image of a convolution as its input",
		},
		{
			image,
			[]Layer{conv2, LRN{Beta: 1}},
			"model m: layer 2 (lrn): radius 0, bias 0, alpha 0; radius and alpha must be at least 0, bias above 0",
		},
		{image, []Layer{conv2, LRN{Bias: 1, Beta: 0.8}}, "model m: layer 2 (lrn): beta 0.8; it must be 0.25, 0.5, 0.75 or 1"},
		{
			image,
			[]Layer{conv2, GroupNorm{}},
			"model m: layer 2 (groupnorm): 0 groups of 2 channels; the groups must divide the channels",
		},
		{
			image,
			[]Layer{conv2, GroupNorm{Groups: 3}},
			"model m: layer 2 (groupnorm): 3 groups of 2 channels; the groups must divide the channels",
		},
		{
			image,
			[]Layer{conv2, GroupNorm{Groups: 2, Epsilon: -1}},
			"model m: layer 2 (groupnorm): epsilon -1; it must be at least 0 and below 1",
		},
		{
			vector,
			[]Layer{GroupNorm{Groups: 2}},
			"model m: layer 1 (groupnorm): a group normalisation needs the image of a convolution as its input",
		},
		{
			tokens,
			[]Layer{Residual{}},
			"model m: layer 1 (residual): a residual block cannot read tokens; an embedding must come before",
		},
		{image, []Layer{conv2, Residual{}}, "model m: layer 2 (residual): the body has no layers; it must have at least one"},
		{
			image,
			[]Layer{conv2, Residual{Body: []Layer{Flatten{}, ReLU{}, conv2}}},
			"model m: layer 2 (residual): the output of the body is 4 x 3 x 2 values, of the shortcut 5 x 4 x 2 values; they must be equal",
		},
		{
			image,
			[]Layer{conv2, Residual{Body: []Layer{conv2}, Shortcut: []Layer{ReLU{}, Dense{Units: 2}}}},
			"model m: layer 2 (residual): the output of the body is 4 x 3 x 2 values, of the shortcut 1 x 1 x 2 values; they must be equal",
		},
		{
			image,
			[]Layer{conv2, Residual{Body: []Layer{GroupNorm{Groups: 5}}}},
			"model m: layer 2 (residual): body: layer 1 (groupnorm): 5 groups of 2 channels; the groups must divide the channels",
		},
		{
			image,
			[]Layer{Residual{Body: []Layer{Conv2D{Filters: 1, Kernel: 1}}}},
			"model m: layer 1 (residual): a residual block without a shortcut cannot be the first layer",
		},
		{
			image,
			[]Layer{Dense{Units: 4}, ReLU{}, Dropout{Rate: 1}},
			"model m: layer 3 (dropout): rate 1; it must be at least 0 and below 1",
		},
	} {
		_, err := NewModel("m", c.in, 3, c.layers...)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: error %v, want %q", c.layers, err, c.want)
		}
	}
}

// TestResidualExport checks the names and shapes of the parameters of a block.
func TestResidualExport(t *testing.T) {
	m := blockNet(t)
	w := m.NewParams()
	m.Init(w, 3)
	var got []string
	for _, p := range m.Export(w) {
		got = append(got, fmt.Sprint(p.Name, p.Shape))
	}
	want := []string{
		"conv1.weight[6 3 3 3]", "conv1.bias[6]",
		"residual1.conv1.weight[6 6 3 3]", "residual1.groupnorm1.weight[6]", "residual1.groupnorm1.bias[6]",
		"residual1.conv2.weight[6 6 3 3]", "residual1.conv2.bias[6]",
		"residual2.conv1.weight[20 6 3 3]", "residual2.groupnorm1.weight[20]", "residual2.groupnorm1.bias[20]",
		"residual2.shortcut.conv1.weight[20 6 1 1]", "residual2.shortcut.groupnorm1.weight[20]",
		"residual2.shortcut.groupnorm1.bias[20]",
		"dense1.weight[7 20]", "dense1.bias[7]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("parameters\n%v\nwant\n%v", got, want)
	}
	back := m.NewParams()
	if err := m.Import(back, m.Export(w)); err != nil {
		t.Fatal(err)
	}
	sameBits(t, back, w, "imported")
}

// TestFLOPs checks the counts of one network by hand: padded by one, 3 columns of a
// kernel meet 3*10-2 rows and 3*9-2 columns of the image.
func TestFLOPs(t *testing.T) {
	forward, train := dropoutNet(t).FLOPs()
	first, rest := int64(2*28*25*6), int64(2*3*2*20*9*6+2*20*33+2*33*7)
	if forward != first+rest || train != 2*first+3*rest {
		t.Errorf("FLOPs are %d and %d, want %d and %d", forward, train, first+rest, 2*first+3*rest)
	}
}

// TestSGD checks the step against its formula in float64.
func TestSGD(t *testing.T) {
	s := kernels.NewStream(1, 1)
	draw := func() []float32 {
		v := make([]float32, 48)
		for i := range v {
			v[i] = float32(s.NormFloat64())
		}
		return v
	}
	opt := SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 0.01, Mu: 0.2}
	for steps := range 2 {
		w, g, v, a := draw(), draw(), draw(), draw()
		old, buf := slices.Clone(w), slices.Clone(v)
		(&Optimizer{SGD: opt, Velocity: v, Anchor: a, Steps: steps}).Step(w, g)
		for i := range w {
			d := float64(g[i]) + 0.01*float64(old[i]) + 0.2*(float64(old[i])-float64(a[i]))
			if steps > 0 {
				d += 0.9 * float64(buf[i])
			}
			if want := float64(old[i]) - 0.1*d; math.Abs(float64(w[i])-want) > 1e-6 || math.Abs(float64(v[i])-d) > 1e-6 {
				t.Errorf("after %d steps: weight %v and velocity %v, want %v and %v", steps, w[i], v[i], want, d)
			}
		}
	}
}
