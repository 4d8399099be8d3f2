package data

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// deal makes clients of a set without any: all holds train training
// examples, then test examples. A split that keeps the files' test samples
// deals both kinds, to each client in the proportion of the set; else all
// samples are dealt alike.
func (c *Config) deal(fed *Federation, all View, train int) ([]Examples, error) {
	parts, err := parseSplit(c.Split)
	if err != nil {
		return nil, err
	}
	fed.Files = Totals{Train: train, Test: all.n - train}
	if fed.Fingerprint == "" { // else it is the fingerprint of the set's own clients
		fed.Fingerprint, err = fingerprint([]Examples{{Train: all.cut(0, train), Test: all.cut(train, all.n)}}, false)
		if err != nil {
			return nil, err
		}
	}
	if !parts.files {
		if train < all.n {
			fed.Notes = append(fed.Notes, fmt.Sprintf("the files' %d training and %d test samples were merged before "+
				"they were dealt (data.split = %q)", train, all.n-train, c.Split))
		}
		train = all.n
	}
	proxy, rest, err := c.draw(train)
	if err != nil {
		return nil, err
	}
	labels := all.labels()
	d := &deal.Dealer{Plan: c.plan(), Name: c.Name, Labels: at(labels, rest), Classes: fed.Classes, Key: draw.Key(c.Seed, draw.Partition)}
	if c.ClassAlpha > 0 {
		d.Alpha = c.ClassAlpha * float64(fed.Classes)
	}
	trains, err := d.Train()
	if err != nil {
		return nil, err
	}
	testSizes := list.Made(len(trains), func(i int) int { return len(trains[i]) * (all.n - train) / len(rest) })
	tests := d.Test(trains, labels[train:], testSizes)
	fed.Notes = append(fed.Notes, d.Notes...)
	if len(proxy) > 0 {
		fed.Proxy = all.Pick(proxy)
		for i := range trains {
			trains[i] = at(rest, trains[i])
		}
	}
	way := c.Partition
	if way == deal.WayDirichlet {
		each := d.Alpha / float64(fed.Classes)
		way += fmt.Sprintf(", data.alpha = %.3g in all: %.3g for each of %d classes", d.Alpha, each, fed.Classes)
	}
	note := fmt.Sprintf("dealt (%s) to %d clients of %s samples", way, len(trains), lengths(trains))
	if parts.files {
		note += fmt.Sprintf(" and %s test samples", lengths(tests))
	}
	fed.Notes = append(fed.Notes, note)
	writers := make([]Examples, len(trains))
	digits := len(strconv.Itoa(len(trains) - 1))
	for i := range writers {
		for j := range tests[i] {
			tests[i][j] += int32(train)
		}
		writers[i] = Examples{Client: numbered(i, digits), Train: all.Pick(trains[i]), Test: all.Pick(tests[i])}
	}
	return writers, nil
}

// numbered returns the identity of client i of a set whose clients have none, so
// that they sort by their number.
func numbered(i, digits int) string { return fmt.Sprintf("%0*d", digits, i) }

// plan is what c says of dealing.
func (c *Config) plan() deal.Plan {
	return deal.Plan{
		Way: c.Partition, Alpha: c.Alpha, Shards: c.Shards, ClientClasses: c.ClientClasses, HI: c.HI, Clients: c.Clients, Samples: c.Samples,
		Sizes: c.Sizes, SizeSigma: c.SizeSigma, SizeExponent: c.SizeExponent, MinSamples: c.MinSamples,
	}
}

// lengths tells how long the lists are: one number if they are alike.
func lengths(lists [][]int32) string {
	longer := func(a, b []int32) int { return len(a) - len(b) }
	least, most := len(slices.MinFunc(lists, longer)), len(slices.MaxFunc(lists, longer))
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
