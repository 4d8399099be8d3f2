package estimate

import (
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// drawn is how many points of a search space stand for it.
const drawn = 256

// pointsOf returns what clients may train with: points of the search space, or what
// the study sets without one.
func pointsOf(c *config.Config) ([]fl.ClientParams, error) {
	var space tuners.Space
	for _, name := range slices.Sorted(maps.Keys(c.Space)) {
		if _, ok := hyper.FindTunable(name); !ok {
			continue
		}
		d, err := tuners.ParseDim(name, c.Space[name])
		if err != nil {
			return nil, err
		}
		space = append(space, d)
	}
	if len(space) == 0 {
		return pointsAt(c, []tuners.Params{{}})
	}
	points := list.Made(drawn, func(i int) tuners.Params { return space.Sample(tuners.NewDraws(0, i, 0, "estimate")) })
	return pointsAt(c, points)
}

// pointsAt returns what clients train with at points.
func pointsAt(c *config.Config, points []tuners.Params) ([]fl.ClientParams, error) {
	out := make([]fl.ClientParams, len(points))
	for i, p := range points {
		h, err := c.Hyper().With(p, nil)
		if err != nil {
			return nil, err
		}
		out[i] = h.Client
	}
	return out, nil
}
