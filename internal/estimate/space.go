package estimate

import (
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// drawn is how many points of a search space stand for it.
const drawn = 256

// pointsOf returns what clients may train with: points of the search space, or what
// the study sets without one.
func pointsOf(c *config.Config) ([]fl.ClientParams, error) {
	base := localOf(c)
	var dims []tuners.Dim
	for _, name := range slices.Sorted(maps.Keys(c.Space)) {
		if _, ok := setters[name]; !ok {
			continue
		}
		d, err := tuners.ParseDim(name, c.Space[name])
		if err != nil {
			return nil, err
		}
		dims = append(dims, d)
	}
	if len(dims) == 0 {
		return []fl.ClientParams{base}, nil
	}
	space, err := tuners.NewSpace(dims...)
	if err != nil {
		return nil, err
	}
	points := make([]fl.ClientParams, drawn)
	for i := range points {
		points[i] = base
		set(&points[i], space.Sample(tuners.NewDraws(0, i, 0, "estimate")))
	}
	return points, nil
}

// set writes params that say how much a client trains.
func set(p *fl.ClientParams, params tuners.Params) {
	for name, v := range params {
		if x, ok := v.Float(); ok && setters[name] != nil {
			setters[name](p, x)
		}
	}
}

// setters set the hyperparameters that say how much a client trains.
var setters = map[string]func(p *fl.ClientParams, x float64){
	"client.epochs":          func(p *fl.ClientParams, x float64) { p.Epochs = x },
	"client.steps":           func(p *fl.ClientParams, x float64) { p.Steps = int(x) },
	"client.batch":           func(p *fl.ClientParams, x float64) { p.Batch = int(x) },
	"client.personal_epochs": func(p *fl.ClientParams, x float64) { p.PersonalEpochs = x },
	"client.head_epochs":     func(p *fl.ClientParams, x float64) { p.HeadEpochs = x },
	"client.inner_steps":     func(p *fl.ClientParams, x float64) { p.InnerSteps = int(x) },
}
