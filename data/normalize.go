package data

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
)

// leastStd bounds ImageStd, so that all pixels stay finite.
const leastStd = 1e-6

// checkNormalize reports what is wrong with ImageMean, ImageStd and Normalize.
func (c *Config) checkNormalize(s *SetInfo, bad func(string, ...any)) {
	c.checkMeasured(s, bad)
	if len(c.ImageMean) == 0 && len(c.ImageStd) == 0 {
		return
	}
	switch {
	case s.Kind != Image:
		bad("data.image_mean = %v, data.image_std = %v: %s has no images; leave both out", c.ImageMean, c.ImageStd, s.Name)
	case c.standardizes():
		bad("data.image_mean = %v, data.image_std = %v: data.augment = %q normalizes the images itself; leave both out",
			c.ImageMean, c.ImageStd, c.Augment)
	case len(c.ImageMean) == 0 || len(c.ImageStd) == 0:
		bad("data.image_mean = %v, data.image_std = %v: set both or neither", c.ImageMean, c.ImageStd)
	}
	for _, x := range c.ImageMean {
		if !(x >= 0 && x <= 1) {
			bad("data.image_mean = %v: must be from 0 to 1, where a byte k stands for k/255", c.ImageMean)
			break
		}
	}
	for _, x := range c.ImageStd {
		if !(x >= leastStd && x <= 1) {
			bad("data.image_std = %v: must be from %v to 1, where a byte k stands for k/255", c.ImageStd, leastStd)
			break
		}
	}
}

// normalize returns the examples with their images as ImageMean and ImageStd say. What
// the set keeps is not changed.
func (c *Config) normalize(fed *Federation, examples []Examples) ([]Examples, error) {
	if len(c.ImageStd) == 0 {
		return examples, nil
	}
	of := func(key string, values []float64) ([]float32, error) {
		if n := len(values); n != 1 && n != fed.C {
			return nil, fmt.Errorf("data.%s = %v: must be one number for all channels or one for each; "+
				"the images are %d x %d x %d",
				key, values, fed.H, fed.W, fed.C)
		}
		each := list.Made(fed.C, func(ch int) float32 { return float32(values[ch%len(values)]) })
		return each, nil
	}
	mean, badMean := of("image_mean", c.ImageMean)
	std, badStd := of("image_std", c.ImageStd)
	by, made, all := &Normalized{mean, std}, map[source]source{}, slices.Clone(examples)
	if err := errors.Join(badMean, badStd); err != nil {
		return nil, err
	}
	fed.Normalized = by
	for i := range all {
		by.apply(made, &all[i].Train, &all[i].Test)
	}
	return all, nil
}
