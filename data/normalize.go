package data

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/pixel"
)

// leastStd bounds ImageStd, so that all pixels stay finite.
const leastStd = 1e-6

// checkNormalize reports what is wrong with ImageMean and ImageStd.
func (c *Config) checkNormalize(s *SetInfo, bad func(string, ...any)) {
	if len(c.ImageMean) == 0 && len(c.ImageStd) == 0 {
		return
	}
	switch {
	case s.Kind != Image:
		bad("data.image_mean = %v, data.image_std = %v: %s has no images; leave both out", c.ImageMean, c.ImageStd, s.Name)
	case c.Augment != "":
		bad("data.image_mean = %v, data.image_std = %v: data.augment = %q normalizes the images itself; leave both out", c.ImageMean, c.ImageStd, c.Augment)
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
	for _, list := range []struct {
		key    string
		values []float64
	}{{"image_mean", c.ImageMean}, {"image_std", c.ImageStd}} {
		if n := len(list.values); n != 1 && n != fed.C {
			return nil, fmt.Errorf("data.%s = %v: must be one number for all channels or one for each; the images are %d x %d x %d", list.key, list.values, fed.H, fed.W, fed.C)
		}
	}
	tables := make([]table, fed.C)
	for ch := range tables {
		mean, std := float32(c.ImageMean[ch%len(c.ImageMean)]), float32(c.ImageStd[ch%len(c.ImageStd)])
		for k := range tables[ch] {
			tables[ch][k] = (pixel.Unit[k] - mean) / std
		}
	}
	made := map[source]source{} // views of one source stay so
	all := make([]Examples, len(examples))
	for i, e := range examples {
		for _, v := range []*View{&e.Train, &e.Test} {
			if v.n == 0 {
				continue
			}
			src, ok := made[v.src]
			if !ok {
				if src = withTables(v.src, tables); src == nil {
					return nil, fmt.Errorf("data.image_mean = %v, data.image_std = %v: only images that are held as bytes are normalized so; leave both out and normalize the values in the files", c.ImageMean, c.ImageStd)
				}
				made[v.src] = src
			}
			v.src = src
		}
		all[i] = e
	}
	return all, nil
}

// withTables returns src with other floats for its bytes, nil if it has no images of
// bytes or gives them floats of its own.
func withTables(src source, tables []table) source {
	switch s := src.(type) {
	case *images:
		if s.jitter {
			return nil
		}
		other := *s
		other.tables = tables
		return &other
	case *valued:
		if of := withTables(s.source, tables); of != nil {
			return &valued{of, s.n, s.values}
		}
	case *tagged:
		if of := withTables(s.source, tables); of != nil {
			return &tagged{of, s.n, s.starts, s.labels}
		}
	}
	return nil
}
