package glyphs

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// The set is registered behind the built-in ones, in programs of tests alone.
func init() {
	info := data.SetInfo{
		Name: "glyphs",
		Doc: "SYNTHETIC writers of digits and letters, drawn from fonts at start; no download. One client is one writer. " +
			"data.clients and data.samples (mean of a writer) set the size",
		Kind: data.Image, Input: "28x28x1", Classes: Classes, Clients: "280 unless data.clients says otherwise",
		Samples: "100 a writer on average unless data.samples says otherwise", Synthetic: true,
	}
	if err := data.Register(info, loadGlyphs); err != nil {
		panic(err)
	}
}

func loadGlyphs(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	size := Config{Seed: cfg.Seed, Clients: cfg.Clients, MeanSamples: cfg.Samples}
	if err := memory.Check(size.Bytes()); err != nil {
		return nil, nil, fmt.Errorf("data.clients = %d, data.samples = %d: what is drawn %w; ask for fewer",
			cfg.Clients, cfg.Samples, err)
	}
	drawn, err := Generate(ctx, size)
	if err != nil {
		return nil, nil, err
	}
	fed := &data.Federation{H: Side, W: Side, C: 1, Classes: Classes}
	writers := make([]data.Examples, len(drawn.Writers))
	for i, w := range drawn.Writers {
		labels := make([]int32, len(w.Labels))
		for j, l := range w.Labels {
			labels[j] = int32(l)
		}
		writers[i] = data.Examples{Client: w.ID, Train: data.ImageView(Side, Side, 1, w.Images, labels)}
	}
	return fed, writers, nil
}
