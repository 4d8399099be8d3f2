package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestNarrow(t *testing.T) {
	block, err := NewModel("block", Shape{H: 8, W: 8, C: 3}, 5,
		Conv2D{Filters: 8, Kernel: 3, Same: true}, ReLU{}, MaxPool{Size: 2},
		Residual{
			Body:     []Layer{Conv2D{Filters: 16, Kernel: 3, Pad: 1, NoBias: true}, GroupNorm{Groups: 2}, ReLU{}},
			Shortcut: []Layer{Conv2D{Filters: 16, Kernel: 1, NoBias: true}},
		}, ReLU{}, Flatten{}, Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	mobile, err := NewModel("mobile", Shape{H: 8, W: 8, C: 3}, 5,
		Conv2D{Filters: 16, Kernel: 1, NoBias: true}, GroupNorm{Groups: 4}, Activation("hardswish"),
		DepthwiseConv2D{Kernel: 3, Pad: 1, NoBias: true}, Activation("hardswish"),
		SqueezeExcitation{Units: 12}, Conv2D{Filters: 24, Kernel: 1, NoBias: true}, GroupNorm{Groups: 6}, AvgPool{},
		Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		model *Model
		width float64
		want  string // shapes by name
	}{
		{
			mobile, 0.125,
			"conv1.weight [2 3 1 1] groupnorm1.weight [2] groupnorm1.bias [2] depthwise1.weight [2 1 3 3] squeeze1.fc1.weight [2 2 1 1] squeeze1.fc1.bias [2] " +
				"squeeze1.fc2.weight [2 2 1 1] squeeze1.fc2.bias [2] conv2.weight [3 2 1 1] groupnorm2.weight [3] groupnorm2.bias [3] dense1.weight [5 3] dense1.bias [5]",
		},
		{
			dropoutNet(t), 1,
			"conv1.weight [6 1 3 3] conv1.bias [6] conv2.weight [20 6 3 3] conv2.bias [20] dense1.weight [33 20] dense1.bias [33] dense2.weight [7 33] dense2.bias [7]",
		},
		{
			dropoutNet(t), 0.5,
			"conv1.weight [3 1 3 3] conv1.bias [3] conv2.weight [10 3 3 3] conv2.bias [10] dense1.weight [17 10] dense1.bias [17] dense2.weight [7 17] dense2.bias [7]",
		},
		{
			dropoutNet(t), 0.0625,
			"conv1.weight [1 1 3 3] conv1.bias [1] conv2.weight [2 1 3 3] conv2.bias [2] dense1.weight [3 2] dense1.bias [3] dense2.weight [7 3] dense2.bias [7]",
		},
		{
			block, 0.25,
			"conv1.weight [2 3 3 3] conv1.bias [2] residual1.conv1.weight [4 2 3 3] residual1.groupnorm1.weight [4] residual1.groupnorm1.bias [4] residual1.shortcut.conv1.weight [4 2 1 1] dense1.weight [5 64] dense1.bias [5]",
		},
	} {
		n, err := tt.model.Narrow(tt.width)
		if err != nil {
			t.Fatal(err)
		}
		var shapes []string
		for _, p := range n.Export(n.NewParams()) {
			shapes = append(shapes, fmt.Sprint(p.Name, " ", p.Shape))
		}
		if got := strings.Join(shapes, " "); got != tt.want {
			t.Errorf("%s at width %v has %s, want %s", tt.model.Name(), tt.width, got, tt.want)
		}
	}
	text, err := NewModel("text", Shape{Seq: 4, Vocab: 9}, 9, Embedding{Dim: 4}, LSTM{Hidden: 16}, Dense{Units: 9})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := text.Narrow(0.5); err != nil || n.Export(n.NewParams())[1].Shape[0] != 4*8 {
		t.Errorf("a text model: %v, error %v", n, err)
	}
	if _, err := text.Narrow(0); err == nil {
		t.Error("width 0 was taken")
	}
}

// branchedNet is a network with a join of channels, a sum of such joins and a GRU.
func branchedNet(t *testing.T) *Model {
	t.Helper()
	conv := func(filters int) Layer { return Conv2D{Filters: filters, Kernel: 3, Same: true} }
	m, err := NewModel("branched", Shape{H: 6, W: 4, C: 3}, 5, conv(8), ReLU{},
		Graph{Branches: []Branch{
			{From: []int{graphInput}, Layers: []Layer{conv(6), ReLU{}}},
			{From: []int{graphInput}, Layers: []Layer{conv(12)}},
			{From: []int{0, 1}, Join: joinConcat, Layers: []Layer{MaxPool{Size: 2}}},
			{From: []int{2}, Layers: []Layer{SqueezeExcitation{Units: 4}, DepthwiseConv2D{Kernel: 3, Same: true}, conv(10)}},
			{From: []int{2, 3, 2}, Join: joinConcat},
		}},
		Sequence{},
		GRU{Hidden: 14, EveryStep: true}, LSTM{Hidden: 9, Layers: 2}, Dense{Units: 7}, ReLU{}, Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cutOut returns the parameters of a sub-network, cut out of w, and w without all others.
func cutOut(t *testing.T, places *Places, m, sub *Model, w []float32, shift int) (own, rest []float32) {
	t.Helper()
	at, err := places.Rotated(sub, shift)
	if err != nil {
		t.Fatal(err)
	}
	own, rest = sub.NewParams(), m.NewParams()
	for i, p := range at {
		if p >= 0 {
			own[i], rest[p] = w[p], w[p]
		}
	}
	return own, rest
}

// outputsOf returns what a network gives for a batch.
func outputsOf(m *Model, w []float32, b *Batch) []float32 {
	got := make([]float32, b.N*m.Classes())
	b.Outputs = got
	m.NewWorkspace().Evaluate(w, b)
	b.Outputs = nil
	return got
}

// sameOutputs compares two of those.
func sameOutputs(t *testing.T, got, want []float32) {
	t.Helper()
	largest := 0.0
	for i, x := range want {
		largest = max(largest, math.Abs(float64(x)))
		if math.Abs(float64(x-got[i])) > 1e-5 {
			t.Fatalf("output %d is %v, of the whole network %v", i, got[i], x)
		}
	}
	if largest < 0.05 {
		t.Errorf("no output is above %v", largest)
	}
}

// TestPlacesOfBlocks holds that a sub-network is the whole network whose other weights
// are zero: units without weights give zeros, those of a GRU and an LSTM, too.
func TestPlacesOfBlocks(t *testing.T) {
	m := branchedNet(t)
	b := images(m, 6)
	w := m.NewParams()
	m.Init(w, 4)
	places := m.Places()
	for _, width := range []float64{0.5, 0.25} {
		for _, shift := range []int{0, 1, 5} {
			sub, err := m.Narrow(width)
			if err != nil {
				t.Fatal(err)
			}
			own, rest := cutOut(t, places, m, sub, w, shift)
			sameOutputs(t, outputsOf(sub, own, b), outputsOf(m, rest, b))
		}
	}
}

// attends are networks with attention: tied outputs after a layer norm, and a class
// token after patches. c is the number of channels.
func attends(t *testing.T, c int) (text, vision *Model) {
	t.Helper()
	block := func() []Layer {
		return []Layer{
			Residual{Body: []Layer{LayerNorm{}, Attention{Heads: 4, Causal: true}}},
			Residual{Body: []Layer{LayerNorm{RMS: true}, Dense{Units: 3 * c}, Activation("gelu"), Dense{Units: c}}},
		}
	}
	text, err := NewModel("text", Shape{Seq: 7, Vocab: 11}, 11,
		append(append([]Layer{Embedding{Dim: c}, Positions{}}, block()...), Steps{}, LayerNorm{}, Tied{})...)
	if err != nil {
		t.Fatal(err)
	}
	vision, err = NewModel("vision", Shape{H: 8, W: 8, C: 3}, 5,
		append(append([]Layer{Conv2D{Filters: c, Kernel: 2, Stride: 2}, Sequence{ClassToken: true}, Positions{}}, block()...),
			Steps{Take: "first"}, Dense{Units: 5})...)
	if err != nil {
		t.Fatal(err)
	}
	return text, vision
}

// TestNarrowAttention cuts networks with attention and compares them with networks of
// half the channels whose weights are cut out by hand, head by head.
func TestNarrowAttention(t *testing.T) {
	const c, heads = 24, 4
	text, vision := attends(t, c)
	lesserText, lesserVision := attends(t, c/2)
	for i, m := range []*Model{text, vision} {
		lesser := []*Model{lesserText, lesserVision}[i]
		sub, err := m.Narrow(0.5)
		if err != nil {
			t.Fatal(err)
		}
		w := m.NewParams()
		m.Init(w, 3)
		own, _ := cutOut(t, m.Places(), m, sub, w, 0)
		whole := map[string]Tensor{}
		for _, p := range m.Export(w) {
			whole[p.Name] = p
		}
		byHand := lesser.Export(lesser.NewParams())
		for _, p := range byHand {
			from := whole[p.Name]
			rows, cols := rowsOf(p.Shape), rowsOf(from.Shape)
			for k := range p.Data {
				row, col := k/rows, k%rows
				switch { // the first 3 of the 6 channels of each head
				case strings.Contains(p.Name, "in_proj"):
					row = row/3*6 + row%3
				case strings.HasSuffix(p.Name, "out_proj.weight"):
					col = col/3*6 + col%3
				}
				p.Data[k] = from.Data[row*cols+col]
			}
		}
		want := lesser.NewParams()
		if err := lesser.Import(want, byHand); err != nil {
			t.Fatal(err)
		}
		b := images(m, 5)
		if m == text {
			b = tokens(m, 5)
		}
		if got, want := outputsOf(sub, own, b), outputsOf(lesser, want, b); !slices.Equal(got, want) {
			t.Errorf("%s: outputs %v, of the network that was cut by hand %v", m.Name(), got, want)
		}
		// In training there are scales within attention, too.
		ws := sub.NewWorkspace()
		ws.Gradient(own, b, TrainOpts{})
		grad, vs := sub.Export(ws.Grad()), sub.Export(own)
		for i, p := range grad {
			for _, j := range []int{0, len(p.Data) / 2, len(p.Data) - 1} {
				loss := func(d float32) float64 {
					vs[i].Data[j] += d
					v := sub.NewParams()
					if err := sub.Import(v, vs); err != nil {
						t.Fatal(err)
					}
					vs[i].Data[j] -= d
					r := ws.Gradient(v, b, TrainOpts{})
					return r.Loss / float64(r.Count)
				}
				if got, want := float64(p.Data[j]), (loss(2e-3)-loss(-2e-3))/4e-3; math.Abs(got-want) > 2e-2*math.Abs(want)+2e-3 {
					t.Errorf("%s: %s[%d]: gradient %v, difference quotient %v", m.Name(), p.Name, j, got, want)
				}
			}
		}
	}
}

// rowsOf returns how many values a row of a tensor has, all but its first dimension; a
// class token is a row of channels.
func rowsOf(shape []int) int {
	n := 1
	for _, d := range shape[1:] {
		n *= d
	}
	return n
}

// TestRotatedHeads holds that a sub-network of attention whose channels begin elsewhere
// is the whole network whose other weights are zero, but for the scale of the softmax,
// which belongs to the channels that a head has.
func TestRotatedHeads(t *testing.T) {
	m, err := NewModel("heads", Shape{H: 4, W: 4, C: 2}, 5, Conv2D{Filters: 16, Kernel: 2, Stride: 2},
		Sequence{ClassToken: true}, Positions{},
		Residual{Body: []Layer{Attention{Heads: 2}}}, Steps{Take: "first"}, Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 4)
	b := images(m, 6)
	places := m.Places()
	sub, err := m.Narrow(0.25)
	if err != nil {
		t.Fatal(err)
	}
	for _, shift := range []int{0, 1, 5, 14} {
		own, rest := cutOut(t, places, m, sub, w, shift)
		ts := m.Export(rest)
		for _, p := range ts {
			if strings.Contains(p.Name, "in_proj") { // queries, times the root of 8 of 2 channels
				for k := range p.Data[:len(p.Data)/3] {
					p.Data[k] *= 2
				}
			}
		}
		if err := m.Import(rest, ts); err != nil {
			t.Fatal(err)
		}
		sameOutputs(t, outputsOf(sub, own, b), outputsOf(m, rest, b))
	}
}

// TestNarrowGroups holds that the first half of the groups of a convolution is the whole
// one whose other weights are zero, and that they cannot begin elsewhere.
func TestNarrowGroups(t *testing.T) {
	m, err := NewModel("groups", Shape{H: 6, W: 6, C: 2}, 5, Conv2D{Filters: 16, Kernel: 1}, ReLU{},
		Conv2D{Filters: 8, Kernel: 3, Groups: 4}, ReLU{}, Conv2D{Filters: 12, Kernel: 2, Dilation: 2},
		AvgPool{}, Dense{Units: 5})
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 4)
	b := images(m, 6)
	places := m.Places()
	sub, err := m.Narrow(0.5)
	if err != nil {
		t.Fatal(err)
	}
	own, rest := cutOut(t, places, m, sub, w, 0)
	sameOutputs(t, outputsOf(sub, own, b), outputsOf(m, rest, b))
	if _, err := places.Rotated(sub, 1); err == nil || !strings.Contains(err.Error(),
		"the channels of conv2 cannot start elsewhere") {
		t.Errorf("error %v", err)
	}
}

// TestNarrowClash refuses sums whose inputs would lose other channels, and outputs of a
// graph.
func TestNarrowClash(t *testing.T) {
	conv := func(filters int) Layer { return Conv2D{Filters: filters, Kernel: 1} }
	graph := func(last int, to ...Layer) []Layer {
		return append([]Layer{conv(4), Graph{Branches: []Branch{
			{From: []int{graphInput}, Layers: []Layer{conv(2)}},
			{From: []int{graphInput, 0}, Join: joinConcat},
			{From: []int{graphInput}, Layers: []Layer{conv(last)}},
			{From: []int{1, 2}, Join: joinAdd},
		}}}, to...)
	}
	for _, c := range []struct {
		layers []Layer
		want   string
	}{
		{graph(6, Dense{Units: 2}), "layer 2 (graph): it adds channels of [4 2] and [6], which are narrowed differently"},
		{[]Layer{conv(4), Graph{Branches: []Branch{
			{From: []int{graphInput}, Layers: []Layer{Dense{Units: 2}}},
			{From: []int{graphInput}, Layers: []Layer{Dense{Units: 2}}},
			{From: []int{0, 1}, Join: joinAdd},
		}}}, "layer 2 (graph): the outputs of the network cannot be narrowed; the last layer must be dense"},
		{
			[]Layer{conv(6), Sequence{}, Attention{Heads: 2}, Steps{}, Dense{Units: 2}},
			"layer 3 (attention): 2 heads of 3 channels at width 0.5; the heads must divide the channels",
		},
		{
			[]Layer{conv(6), Conv2D{Filters: 6, Kernel: 1, Groups: 3}, Dense{Units: 2}},
			"layer 2 (conv): width 0.5 of 3 groups is not an integer number of groups",
		},
		{
			[]Layer{conv(4), Graph{Branches: []Branch{
				{From: []int{graphInput}, Layers: []Layer{conv(4)}},
				{From: []int{graphInput, 0}, Join: joinConcat},
			}}, Conv2D{Filters: 4, Kernel: 1, Groups: 2}, Dense{Units: 2}},
			"layer 3 (conv): its 2 groups read channels of [4 4], which are narrowed in other groups",
		},
	} {
		m, err := NewModel("clash", Shape{H: 3, W: 3, C: 1}, 2, c.layers...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Narrow(0.5); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// TestScale compares a network that scales in training with the derivative of its
// loss, and with the network without scales in evaluation.
func TestScale(t *testing.T) {
	build := func(scales ...Layer) *Model {
		layers := append([]Layer{Conv2D{Filters: 5, Kernel: 3}, ReLU{}, MaxPool{Size: 2}}, scales...)
		m, err := NewModel("test", Shape{H: 8, W: 8, C: 2}, 4, append(layers, Dense{Units: 6}, Scale{Factor: 2},
			Dense{Units: 4})...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, plain := build(Scale{Factor: 4}), build()
	ws := m.NewWorkspace()
	b := images(m, 5)
	w, _, _ := drawn(m)
	ws.Gradient(w, b, TrainOpts{})
	ts, at := m.Export(ws.Grad()), m.Export(w)
	for i := range ts {
		for _, j := range []int{0, len(ts[i].Data) / 2, len(ts[i].Data) - 1} {
			loss := func(d float32) float64 {
				at[i].Data[j] += d
				v := m.NewParams()
				if err := m.Import(v, at); err != nil {
					t.Fatal(err)
				}
				at[i].Data[j] -= d
				r := ws.Gradient(v, b, TrainOpts{})
				return r.Loss / float64(r.Count)
			}
			want := (loss(2e-3) - loss(-2e-3)) / 4e-3
			if got := float64(ts[i].Data[j]); math.Abs(got-want) > 2e-2*math.Abs(want)+2e-3 {
				t.Errorf("%s[%d]: gradient %v, difference quotient %v", ts[i].Name, j, got, want)
			}
		}
	}
	if a, p := ws.Evaluate(w, b), plain.NewWorkspace().Evaluate(w, b); a != p {
		t.Errorf("evaluation gives %+v, without scales %+v", a, p)
	}
}
