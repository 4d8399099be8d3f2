package config

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/tuners"
)

// Chosen says how clients are chosen.
func (c *Config) Chosen() fleet.Sampler {
	s := c.Sampler
	drawn := []string{"without", "with", fl.SamplingSize, fl.SamplingPoisson, "shuffle"}
	if s.Kind = c.Sampling; slices.Contains(drawn, c.Sampling) {
		s.Kind = ""
	}
	return s
}

// Ends returns how the server works and chooses clients at the ends of the search space, with
// the least and with the most clients and updates at a time, and how much clients train there.
func (c *Config) Ends() (least, most hyper.Values) {
	ends := c.ends()
	return ends[0], ends[1]
}

// LargestBatch returns the largest client.batch of the search space, or of the study.
func (c *Config) LargestBatch() int { return c.ends()[1].Client.Batch }

// ends returns the ends of the search space for what memory and the clock go by.
func (c *Config) ends() [2]hyper.Values {
	ends := [2]hyper.Values{c.Hyper(), c.Hyper()}
	for name, given := range c.Space {
		p, ok := hyper.FindTunable(name)
		d, err := tuners.ParseDim(name, given)
		if !ok || err != nil || !tuners.Matches(name, "time.*", "sampler.*", "client.batch", "client.epochs", "client.steps") {
			continue // CheckSpace returns these errors
		}
		values := trials(d)
		if c.Compares() {
			values = append(values, p.Of(c.Hyper()))
		}
		if name == "time.concurrency" {
			for i, v := range values {
				if x, _ := v.Float(); x == 0 {
					values[i] = tuners.Num(float64(c.Cohort))
				}
			}
		}
		_ = p.Set(&ends[0], slices.MinFunc(values, compareValues).Any()) // CheckSpace returns these errors
		_ = p.Set(&ends[1], slices.MaxFunc(values, compareValues).Any())
	}
	return ends
}

// shapeOf returns the value of time.staleness that a key is for, empty for all.
func shapeOf(name string) string {
	switch name {
	case "time.exponent":
		return fleet.Polynomial
	case "time.hinge_slope", "time.hinge_after":
		return fleet.Hinge
	}
	return ""
}
