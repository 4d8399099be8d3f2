package models

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// spec gives a layer a name and inputs, one or several separated by blanks.
func spec(s LayerSpec, name, inputs string) LayerSpec {
	s.Name = name
	switch from := strings.Fields(inputs); {
	case s.joins():
		s.Inputs = from
	case len(from) > 0:
		s.Input = from[0]
	}
	return s
}

var (
	conv4   = LayerSpec{Type: "conv", Filters: 4, Kernel: 3, Padding: "same"}
	sum     = LayerSpec{Type: add}
	side    = LayerSpec{Type: concat}
	denseIn = LayerSpec{Type: "dense"}
)

// TestGraphOfLayers builds networks of named layers, whose parameters tell how many
// channels reach each layer, and trains one step of each.
func TestGraphOfLayers(t *testing.T) {
	for name, c := range map[string]struct {
		specs []LayerSpec
		want  string // names of the weights with their inputs
	}{
		"a chain of names": {
			[]LayerSpec{spec(conv4, "a", ""), spec(conv4, "", "a"), spec(denseIn, "head", "")},
			"a:2 conv2:4 head:256",
		},
		"branches out of order": {
			[]LayerSpec{
				spec(conv4, "stem", ""), spec(side, "both", "left sum"), spec(conv4, "left", "stem"),
				spec(sum, "sum", "stem right"),
				spec(LayerSpec{Type: "relu"}, "act", "stem"), spec(conv4, "right", "act"), spec(conv4, "after", "both"), denseIn,
			},
			"stem:2 left:4 right:4 after:8 dense1:256",
		},
		"two graphs, the first at the input": {
			[]LayerSpec{
				spec(conv4, "a", ""), spec(conv4, "b", "input"), spec(sum, "ab", "a b"),
				{Type: "relu"},
				spec(conv4, "c", ""),
				spec(conv4, "d", ""), spec(side, "cd", "c d"), spec(denseIn, "", "cd"),
			},
			"a:2 b:2 c:4 d:4 dense1:512",
		},
		"in a residual block": {
			[]LayerSpec{conv4, {Type: residual, Body: []LayerSpec{
				spec(conv4, "a", "input"), spec(conv4, "b", "input"),
				spec(sum, "", "a b"),
			}}, denseIn},
			"conv1:2 residual1.a:4 residual1.b:4 dense1:256",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := FromLayers(c.specs, nn.Shape{H: 8, W: 8, C: 2}, 3)
			if err != nil {
				t.Fatal(err)
			}
			w := m.NewParams()
			m.Init(w, 1)
			var got []string
			for _, p := range m.Export(w) {
				if layer, ok := strings.CutSuffix(p.Name, ".weight"); ok {
					got = append(got, layer+":"+strconv.Itoa(p.Shape[1]))
				}
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("layers are %s, want %s", text, c.want)
			}
			b := torchBatch(m, 3)
			ws := m.NewWorkspace()
			before := ws.Evaluate(w, b)
			for range 20 {
				ws.Step(w, b, nn.TrainOpts{}, &nn.Optimizer{SGD: nn.SGD{LR: 0.02}})
			}
			if after := ws.Evaluate(w, b); after.Loss >= before.Loss {
				t.Errorf("loss %v after 20 steps, %v before", after.Loss, before.Loss)
			}
		})
	}
}

// TestGraphOfLayersErrors checks one line for each wrong graph.
func TestGraphOfLayersErrors(t *testing.T) {
	for _, c := range []struct {
		specs []LayerSpec
		want  string
	}{
		{
			[]LayerSpec{spec(conv4, "a", "b"), spec(conv4, "b", "c"), spec(conv4, "c", "a"), spec(denseIn, "", "c")},
			`model.layers: "a" reads "b", which reads "c", which reads "a": layers must not form a cycle`,
		},
		{[]LayerSpec{spec(conv4, "a", "a"), spec(denseIn, "", "a")}, `model.layers: "a" reads "a": layers must not`},
		{
			[]LayerSpec{spec(conv4, "a", ""), spec(denseIn, "", "x")},
			`model.layers: layer 2 (dense): it reads "x", which is not the name of a layer; the names are a, input`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), spec(conv4, "", "input"), denseIn},
			`model.layers: layer 1 (conv): no layer reads its output`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), spec(conv4, "a", ""), denseIn},
			`model.layers: layer 2 (conv): name = "a" is taken by an earlier layer`,
		},
		{[]LayerSpec{spec(conv4, "a..b", ""), denseIn}, `model.layers: layer 1 (conv): name = "a..b"; it must be of letters`},
		{
			[]LayerSpec{spec(conv4, "input", ""), denseIn},
			`model.layers: layer 1 (conv): name = "input" is what the first layer reads`,
		},
		{
			[]LayerSpec{spec(conv4, "a", "out"), spec(denseIn, "out", "a")},
			`model.layers: layer 1 (conv): it reads "out", the last layer`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), spec(sum, "", "a"), denseIn},
			`model.layers[2] (add): inputs has 1 layer; must have at least 2`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), spec(sum, "", "a a"), denseIn},
			`model.layers: layer 2 (add): inputs names "a" twice`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), {Type: "relu", Inputs: []string{"a", "input"}}, denseIn},
			`model.layers[2] (relu): key "inputs" does not belong to this type`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), {Type: concat, Input: "a"}, denseIn},
			`model.layers[2] (concat): key "input" does not belong to this type; it takes inputs`,
		},
		{[]LayerSpec{spec(conv4, "a", ""), sum, denseIn}, `model.layers[2] (add): key "inputs" is missing`},
		{
			[]LayerSpec{
				spec(conv4, "a", ""), spec(LayerSpec{Type: "maxpool", Size: 2}, "b", "a"), spec(sum, "c", "a b"),
				denseIn,
			},
			`model layers: layer 3 (add): input 1 has 8 x 8 x 4 values, input 2 4 x 4 x 4 values; all must be the same`,
		},
		{
			[]LayerSpec{spec(conv4, "a", ""), spec(sum, "c", "a input"), denseIn},
			`model layers: layer 2 (add): it reads the network's input as it is`,
		},
	} {
		_, err := FromLayers(c.specs, nn.Shape{H: 8, W: 8, C: 2}, 3)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
}
