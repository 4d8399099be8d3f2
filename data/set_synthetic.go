package data

import (
	"context"
	"strconv"

	"github.com/fedfast/fedfast/data/synthetic"
)

// syntheticSet is Synthetic(alpha, beta).
func syntheticSet() set {
	return set{SetInfo{
		Name: "synthetic",
		Doc: "SYNTHETIC(alpha, beta) of Li et al. and LEAF: every client labels its points by a linear model of its own, drawn at start; no download. " +
			"data.alpha sets how far the models are apart, data.beta how far the points are (0, 0.5, 1 in the paper)",
		Kind: Vector, Input: "60 numbers", Classes: synthetic.Classes, Clients: "30 unless data.clients says otherwise",
		Samples: "50 + a log-normal number (4, 2) a client; data.samples sets their mean", Synthetic: true, alphaBeta: true,
	}, loadSynthetic}
}

func loadSynthetic(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	drawn, err := synthetic.Generate(ctx, synthetic.Config{
		Seed: cfg.Seed, Clients: cfg.Clients, Samples: cfg.Samples, Least: cfg.MinSamples, Alpha: cfg.Alpha, Beta: cfg.Beta,
	})
	if err != nil {
		return nil, nil, err
	}
	fed := &Federation{H: 1, W: 1, C: synthetic.Features, Classes: synthetic.Classes}
	writers := make([]writer, len(drawn))
	digits := len(strconv.Itoa(len(drawn) - 1))
	for k, d := range drawn {
		src := &vectors{n: synthetic.Features, values: d.X, labels: d.Labels}
		writers[k] = writer{id: numbered(k, digits), train: span(src, 0, len(d.Labels))}
	}
	return fed, writers, nil
}
