package data

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data/glyphs"
	"github.com/fedfast/fedfast/data/sys/memory"
)

// glyphsSet is the embedded synthetic set.
func glyphsSet() set {
	return set{SetInfo{
		Name: "glyphs",
		Doc: "SYNTHETIC writers of digits and letters, drawn from fonts at start; no download. One client is one writer. " +
			"data.clients and data.samples (mean of a writer) set the size",
		Kind: Image, Input: "28x28x1", Classes: glyphs.Classes, Clients: "280 unless data.clients says otherwise",
		Samples: "100 a writer on average unless data.samples says otherwise", Synthetic: true,
	}, loadGlyphs}
}

func loadGlyphs(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	size := glyphs.Config{Seed: cfg.Seed, Clients: cfg.Clients, MeanSamples: cfg.Samples}
	if err := memory.Check(size.Bytes()); err != nil {
		return nil, nil, fmt.Errorf("data.clients = %d, data.samples = %d: what is drawn %w; ask for fewer", cfg.Clients, cfg.Samples, err)
	}
	drawn, err := glyphs.Generate(ctx, size)
	if err != nil {
		return nil, nil, err
	}
	fed := &Federation{H: glyphs.Side, W: glyphs.Side, C: 1, Classes: glyphs.Classes}
	writers := make([]writer, len(drawn.Writers))
	for i, w := range drawn.Writers {
		labels := make([]int32, len(w.Labels))
		for j, l := range w.Labels {
			labels[j] = int32(l)
		}
		writers[i] = writer{id: w.ID, train: span(newImages(glyphs.Side, glyphs.Side, 1, w.Images, labels), 0, len(labels))}
	}
	return fed, writers, nil
}
