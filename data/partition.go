package data

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/deal"
)

// partitionNatural is the value of data.partition that keeps the clients that a
// set comes with; the others are the ways of package deal.
const partitionNatural = "natural"

const (
	defaultShards = 2    // McMahan et al.'s
	maxSkew       = 10   // of SizeSigma and SizeExponent: beyond it one client has all
	maxApart      = 1000 // of the synthetic set's Alpha and Beta
)

// checkPartition reports what is wrong with Partition and the fields that shape
// it, and fills in its defaults.
func (c *Config) checkPartition(s *SetInfo, bad func(string, ...any)) {
	ways := []string{deal.WayIID, deal.WayDirichlet, deal.WayShards, deal.WayClasses, deal.WayCapped, deal.WayBlocked}
	if !s.Dealt {
		ways = append(ways, partitionNatural)
	}
	if c.Partition == "" && s.Partition != "" {
		c.Partition = s.Partition
		if c.ClassAlpha == 0 {
			c.Alpha = cmp.Or(c.Alpha, s.Alpha)
		}
	}
	switch {
	case c.Partition != "" && !slices.Contains(ways, c.Partition):
		bad("data.partition = %q: must be one of %s", c.Partition, strings.Join(ways, ", "))
		return
	case c.Partition == partitionNatural:
		c.Partition = ""
	case c.Partition != "" && s.Synthetic:
		bad("data.partition = %q: %s has its own clients; leave data.partition out", c.Partition, s.Name)
		return
	}
	mixed := c.Partition == deal.WayDirichlet || c.Partition == deal.WayCapped
	switch {
	case c.ClassAlpha > 0 && c.Partition != deal.WayDirichlet:
		bad("data.class_alpha = %v: only data.partition = %q uses it", c.ClassAlpha, deal.WayDirichlet)
	case c.ClassAlpha > 0 && c.Alpha > 0:
		bad("data.class_alpha = %v, data.alpha = %v: are two forms of one number; set data.alpha = 0 to use the first",
			c.ClassAlpha, c.Alpha)
	case c.ClassAlpha > 0:
	case mixed && !(c.Alpha > 0 && c.Alpha <= 1e6):
		bad("data.alpha = %v: the Dirichlet partition needs a number in (0, 1e6]", c.Alpha)
	case s.AlphaBeta && !(c.Alpha >= 0 && c.Alpha <= maxApart && c.Beta >= 0 && c.Beta <= maxApart):
		bad("data.alpha = %v, data.beta = %v: %s needs numbers in [0, %d]", c.Alpha, c.Beta, s.Name, maxApart)
	case !mixed && !s.AlphaBeta && c.Alpha != 0:
		bad("data.alpha = %v: only data.partition = %q, %q and the set synthetic use it",
			c.Alpha, deal.WayDirichlet, deal.WayCapped)
	case !s.AlphaBeta && c.Beta != 0:
		bad("data.beta = %v: only the set synthetic uses it", c.Beta)
	}
	switch {
	case c.Shards < 0:
		bad("data.shards = %d: must be 0 or more", c.Shards)
	case c.Shards > 0 && c.Partition != deal.WayShards:
		bad("data.shards = %d: only data.partition = %q uses it", c.Shards, deal.WayShards)
	case c.Shards == 0 && c.Partition == deal.WayShards:
		c.Shards = defaultShards
	}
	c.checkClasses(bad)
	c.checkSizes(s, bad)
}

// checkClasses reports what is wrong with ClientClasses and HI.
func (c *Config) checkClasses(bad func(string, ...any)) {
	asked := c.ClientClasses != 0 || len(c.HI) > 0
	switch {
	case c.Partition == deal.WayBlocked:
		if c.ClientClasses < 1 || len(c.HI) > 0 {
			bad("data.client_classes = %d, data.hi = %v: data.partition = %q needs the first, 1 or more, and not the other",
				c.ClientClasses, c.HI, c.Partition)
		}
	case asked && c.Partition != deal.WayClasses:
		bad("data.client_classes = %d, data.hi = %v: only data.partition = %q and %q use them", c.ClientClasses, c.HI,
			deal.WayClasses, deal.WayBlocked)
	case !asked && c.Partition == deal.WayClasses, c.ClientClasses != 0 && len(c.HI) > 0:
		bad("data.client_classes = %d, data.hi = %v: data.partition = %q needs one of the two", c.ClientClasses, c.HI,
			deal.WayClasses)
	case c.ClientClasses < 0:
		bad("data.client_classes = %d: must be 1 or more", c.ClientClasses)
	}
	for _, hi := range c.HI {
		if !(hi >= 0 && hi <= 1) {
			bad("data.hi = %v: the heterogeneity index must be in [0, 1]", c.HI)
			return
		}
	}
}

// checkSizes reports what is wrong with Sizes, SizeSigma and SizeExponent.
func (c *Config) checkSizes(s *SetInfo, bad func(string, ...any)) {
	ways := 0
	for _, given := range []bool{len(c.Sizes) > 0, c.SizeSigma != 0, c.SizeExponent != 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 0 && !s.Dealt && !c.dealt():
		bad("data.sizes = %v, data.size_sigma = %v, data.size_exponent = %v: %s has its own clients; leave them out, or set data.partition", c.Sizes, c.SizeSigma, c.SizeExponent, s.Name)
	case (ways > 0 || c.Samples > 0) && (c.Partition == deal.WayCapped || c.Partition == deal.WayBlocked):
		bad("data.samples = %d, data.sizes = %v, data.size_sigma = %v, data.size_exponent = %v: data.partition = %q deals "+
			"all samples, in sizes of its own; leave them out", c.Samples, c.Sizes, c.SizeSigma, c.SizeExponent, c.Partition)
	case ways > 1:
		bad("data.sizes = %v, data.size_sigma = %v, data.size_exponent = %v: use one of the three", c.Sizes, c.SizeSigma,
			c.SizeExponent)
	case len(c.Sizes) > 0 && c.Samples > 0:
		bad("data.samples = %d, data.sizes = %v: use one of the two", c.Samples, c.Sizes)
	case len(c.Sizes) > 0 && slices.Min(c.Sizes) < c.MinSamples:
		bad("data.sizes = %v: %d is below data.min_samples = %d", c.Sizes, slices.Min(c.Sizes), c.MinSamples)
	}
	for _, skew := range []struct {
		key   string
		value float64
	}{{"size_sigma", c.SizeSigma}, {"size_exponent", c.SizeExponent}} {
		if !(skew.value >= 0 && skew.value <= maxSkew) {
			bad("data.%s = %v: must be above 0 and at most %d, or 0 for none", skew.key, skew.value, maxSkew)
		}
	}
}
