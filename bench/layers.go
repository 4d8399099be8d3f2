package bench

import (
	"context"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// layerCase is a layer by itself, in a frame of what brings it its input and of a
// small dense layer after it.
type layerCase struct {
	name  string
	layer models.LayerSpec
}

// The frames, and what is measured in each. The row "frame" has no layer: its time is
// what the others have beside theirs.
var (
	imageInput = nn.Shape{H: 16, W: 16, C: 3}
	imageCases = []layerCase{
		{"conv 3x3", models.LayerSpec{Type: "conv", Filters: 64, Kernel: 3, Padding: "same"}},
		{"conv 3x3, 4 groups", models.LayerSpec{Type: "conv", Filters: 64, Kernel: 3, Padding: "same", Groups: 4}},
		{"conv 3x3, dilation 2", models.LayerSpec{Type: "conv", Filters: 64, Kernel: 3, Padding: "same", Dilation: 2}},
		{"conv 1x1", models.LayerSpec{Type: "conv", Filters: 64, Kernel: 1}},
		{"depthwise 3x3", models.LayerSpec{Type: "depthwise", Kernel: 3, Padding: "same"}},
		{"depthwise 5x5", models.LayerSpec{Type: "depthwise", Kernel: 5, Padding: "same"}},
		{"groupnorm", models.LayerSpec{Type: "groupnorm", Groups: 8}},
		{"squeeze", models.LayerSpec{Type: "squeeze", Units: 16}},
		{"maxpool", models.LayerSpec{Type: "maxpool", Size: 2}},
		{"relu", models.LayerSpec{Type: "relu"}},
		{"hardswish", models.LayerSpec{Type: "hardswish"}},
		{"silu", models.LayerSpec{Type: "silu"}},
		{"gelu", models.LayerSpec{Type: "gelu"}},
	}

	sequenceInput = nn.Shape{Seq: 64, Vocab: 256}
	sequenceCases = []layerCase{
		{"attention, 4 heads", models.LayerSpec{Type: "attention", Heads: 4, Causal: true}},
		{"lstm", models.LayerSpec{Type: "lstm", Hidden: sequenceWidth}},
		{"gru", models.LayerSpec{Type: "gru", Hidden: sequenceWidth}},
		{"dense", models.LayerSpec{Type: "dense", Units: sequenceWidth}},
		{"layernorm", models.LayerSpec{Type: "layernorm"}},
		{"rmsnorm", models.LayerSpec{Type: "rmsnorm"}},
	}
)

const (
	sequenceWidth = 128
	layerBatch    = 16
	layerClasses  = 10
)

// layerRows lists training steps of single layers.
func layerRows(_ context.Context, cfg Config) ([]row, error) {
	batch := layerBatch
	if cfg.Batch > 0 {
		batch = cfg.Batch
	}
	frames := []struct {
		input         nn.Shape
		before, after []models.LayerSpec
		cases         []layerCase
	}{
		{
			imageInput,
			[]models.LayerSpec{{Type: "conv", Filters: 64, Kernel: 1}},
			[]models.LayerSpec{{Type: "avgpool"}, {Type: "dense"}},
			imageCases,
		},
		{
			sequenceInput,
			[]models.LayerSpec{{Type: "embedding", Size: sequenceWidth}},
			[]models.LayerSpec{{Type: "steps", Take: "mean"}, {Type: "dense"}},
			sequenceCases,
		},
	}
	var rows []row
	for _, f := range frames {
		for i, c := range append([]layerCase{{name: "frame"}}, f.cases...) {
			layers := append([]models.LayerSpec{}, f.before...)
			after := f.after
			if i > 0 {
				layers = append(layers, c.layer)
			}
			if c.layer.Hidden > 0 { // it gives its last step
				after = after[1:]
			}
			layers = append(layers, after...)
			m, err := models.FromLayers(layers, f.input, layerClasses)
			if err != nil {
				return nil, err
			}
			rows = append(rows, stepRow(network{Model: m, name: c.name, layers: layers}, batch, plainSGD))
		}
	}
	return rows, nil
}
