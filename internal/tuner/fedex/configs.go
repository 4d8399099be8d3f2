package fedex

import (
	"math"

	"github.com/fedfast/fedfast/tuners"
)

// drawConfigs returns a trial's configurations: the first is the trial's own, the
// others its neighbours or independent draws. They depend on the seed and the
// origin alone, so the state need not hold them.
func drawConfigs(space tuners.Space, centre tuners.Params, o settings, seed uint64, origin int) []tuners.Params {
	k := o.configs
	if o.drawConfigs {
		k = 1 + tuners.NewDraws(seed, origin, 0, "fedex number of configs").IntN(o.configs)
	}
	first := make(tuners.Params, len(space))
	for _, d := range space {
		first[d.Name] = centre[d.Name]
	}
	draws := tuners.NewDraws(seed, origin, 0, "fedex configs")
	configs := []tuners.Params{first}
	for len(configs) < k {
		switch {
		case o.independent:
			configs = append(configs, space.Sample(draws))
		case o.asPaper:
			configs = append(configs, perturbAsPaper(space, first, o.eps, draws))
		default:
			configs = append(configs, space.Perturb(first, o.eps, draws))
		}
	}
	return configs
}

// perturbAsPaper is Space.Perturb with the paper's neighbourhood of whole
// dimensions: {c - floor(w), ..., c + ceil(w)}, w = eps (hi - lo).
func perturbAsPaper(space tuners.Space, centre tuners.Params, eps float64, draws *tuners.Draws) tuners.Params {
	p := make(tuners.Params, len(space))
	for _, d := range space {
		u := draws.Float64()
		if !d.Whole() {
			p[d.Name] = d.Perturb(centre[d.Name], eps, u)
			continue
		}
		w := float64(eps * (d.Hi - d.Lo))
		below, above := math.Floor(w), math.Ceil(w)
		s := d.Scale(centre[d.Name]) - below + math.Floor(float64(u*(below+above+1)))
		p[d.Name] = d.Value(min(max(s, d.Lo), d.Hi))
	}
	return p
}
