package synthetic

import (
	"context"
	"fmt"
	"strconv"

	"github.com/fedfast/fedfast/data"
)

// Sets returns the one set: synthetic.
func Sets() []data.Set { return []data.Set{syntheticSet()} }

// syntheticSet is Synthetic(alpha, beta).
func syntheticSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "synthetic",
		Doc: "SYNTHETIC(alpha, beta) of Li et al. and LEAF: every client labels its points by a linear model of its own, drawn at start; no download. " +
			"data.alpha sets how far the models are apart, data.beta how far the points are (0, 0.5, 1 in the paper)",
		Kind: data.Vector, Input: "60 numbers", Classes: Classes, Clients: "30 unless data.clients says otherwise",
		Samples: "50 + a log-normal number (4, 2) a client; data.samples sets their mean", Synthetic: true, AlphaBeta: true,
	}, Load: loadSynthetic}
}

func loadSynthetic(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	d, err := New(Config{
		Seed: cfg.Seed, Clients: cfg.Clients, Samples: cfg.Samples, Least: cfg.MinSamples, Alpha: cfg.Alpha, Beta: cfg.Beta,
	})
	if err != nil {
		return nil, nil, err
	}
	fed := &data.Federation{H: 1, W: 1, C: Features, Classes: Classes, Lazy: cfg.Proxy == 0}
	rows := data.NewLazyVectors(Features, Classes, func(k int) ([]float32, []int32, error) {
		c := d.Client(k)
		return c.X, c.Labels, nil
	})
	view := func(k, size int) data.View { return rows.View(k, size) }
	if !fed.Lazy { // samples are set apart
		all, err := d.All(ctx)
		if err != nil {
			return nil, nil, err
		}
		view = func(k, _ int) data.View { return data.VectorView(Features, all[k].X, all[k].Labels) }
	}
	writers := make([]data.Examples, len(d.Sizes))
	digits := len(strconv.Itoa(len(writers) - 1))
	for k, size := range d.Sizes {
		writers[k] = data.Examples{Client: fmt.Sprintf("%0*d", digits, k), Train: view(k, size)}
	}
	return fed, writers, nil
}
