// Package fltest holds the small federation and network on which the tests of the
// engine and of the methods train.
package fltest

import (
	"testing"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// OpenGlyphs returns a small federation of the embedded set.
func OpenGlyphs(t testing.TB, clients, samples int) *data.Federation {
	t.Helper()
	fed, err := data.Open(t.Context(), data.Config{
		Name: "glyphs", Split: "80/10/10", Clients: clients, Samples: samples,
		Seed: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	return fed
}

// SmallCNN is a network in which every kind of layer of the image models
// occurs.
func SmallCNN(t testing.TB, fed *data.Federation) *nn.Model {
	t.Helper()
	rate := 0.2
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "conv", Filters: 8, Kernel: 5, Stride: 2, Padding: "valid"},
		{Type: "relu"},
		{Type: "maxpool", Size: 2},
		{Type: "flatten"},
		{Type: "dropout", Rate: &rate},
		{Type: "dense", Units: fed.Classes},
	}, nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SmallNormalized is a network with batch normalization, of 24 channels that leave padding.
func SmallNormalized(t testing.TB, fed *data.Federation) *nn.Model {
	t.Helper()
	conv := func(filters, stride int) models.LayerSpec {
		return models.LayerSpec{Type: "conv", Filters: filters, Kernel: 3, Pad: 1, Stride: stride, NoBias: true}
	}
	norm, relu := models.LayerSpec{Type: "batchnorm"}, models.LayerSpec{Type: "relu"}
	m, err := models.FromLayers([]models.LayerSpec{
		conv(24, 4), norm, relu,
		{Type: "residual", Body: []models.LayerSpec{conv(24, 1), norm}},
		relu,
		{Type: "avgpool"},
		{Type: "dense", Units: fed.Classes},
	}, nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SmallTransformer is a network with two layers of self-attention, whose 24 channels
// leave padding in the packed weights.
func SmallTransformer(t testing.TB, fed *data.Federation) *nn.Model {
	t.Helper()
	rate := 0.2
	layers := []models.LayerSpec{
		{Type: "conv", Filters: 24, Kernel: fed.H / 4, Stride: fed.H / 4},
		{Type: "sequence"},
		{Type: "positions"},
	}
	for range 2 {
		layers = append(layers, models.LayerSpec{Type: "residual", Body: []models.LayerSpec{
			{Type: "layernorm"},
			{Type: "attention", Heads: 3},
		}})
	}
	layers = append(layers, models.LayerSpec{Type: "steps", Take: "mean"}, models.LayerSpec{Type: "dropout", Rate: &rate},
		models.LayerSpec{Type: "dense", Units: fed.Classes})
	m, err := models.FromLayers(layers, nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SmallSupernet is a network with a choice of a kernel, a width and a depth.
func SmallSupernet(t testing.TB, fed *data.Federation) *nn.Model {
	t.Helper()
	choices := []nn.Choice{
		{Name: "depth", Options: []int{0, 1}},
		{Name: "kernel", Options: []int{3, 5}},
		{Name: "width", Options: []int{6, 8}},
	}
	m, err := nn.NewSupernet("small", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes, choices,
		func(pick func(name string) int) []nn.Layer {
			width, kernel := pick("width"), pick("kernel")
			layers := []nn.Layer{
				nn.Conv2D{Filters: width, Kernel: kernel, Stride: 2, Pad: kernel / 2}, nn.ReLU{}, nn.MaxPool{Size: 2},
			}
			if pick("depth") > 0 {
				body := []nn.Layer{nn.Named{Layer: nn.DepthwiseConv2D{Kernel: kernel, Pad: kernel / 2}, Name: "depthwise"}}
				layers = append(layers, nn.Named{Layer: nn.Residual{Body: body}, Name: "block"})
			}
			return append(layers, nn.AvgPool{}, nn.Named{Layer: nn.Dense{Units: fed.Classes}, Name: "head"})
		})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// SmallMixture is a network with two mixed operations of shared weights, and zeros.
func SmallMixture(t testing.TB, fed *data.Federation) *nn.Model {
	t.Helper()
	m, err := models.FromLayers([]models.LayerSpec{
		{Type: "conv", Name: "stem", Filters: 6, Kernel: 3, Stride: 2},
		{Type: "relu", Name: "a"},
		{Type: "avgpool", Name: "mean", Input: "a", Size: 3, Stride: 1, Pad: 1},
		{Type: "depthwise", Name: "depth", Input: "a", Kernel: 3, Pad: 1},
		{Type: "mix", Name: "b", Inputs: []string{"mean", "a", "depth"}, Weights: "edge", Zero: true},
		{Type: "conv", Name: "point", Input: "b", Filters: 6, Kernel: 1},
		{Type: "maxpool", Name: "max", Input: "b", Size: 3, Stride: 1, Pad: 1},
		{Type: "mix", Name: "c", Inputs: []string{"point", "b", "max"}, Weights: "edge", Zero: true},
		{Type: "dropout", Rate: new(float64)},
		{Type: "avgpool", Size: 4},
		{Type: "dense", Name: "head"},
	}, nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Batch reads all examples of a view.
func Batch(t testing.TB, m *nn.Model, v data.View) *nn.Batch {
	t.Helper()
	in := m.Input()
	b := &nn.Batch{N: v.Len(), Labels: make([]int32, v.Len()*m.LabelsPerExample())}
	if in.Seq > 0 {
		b.Tokens = make([]int32, v.Len()*in.Seq)
	} else {
		b.X = make([]float32, v.Len()*in.H*in.W*in.C)
	}
	pos := make([]int32, v.Len())
	for i := range pos {
		pos[i] = int32(i)
	}
	if err := v.Fill(pos, b.X, b.Tokens, b.Labels, nil); err != nil {
		t.Fatal(err)
	}
	return b
}
