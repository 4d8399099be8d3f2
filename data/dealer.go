package data

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/data/internal/draw"
	"github.com/fedfast/fedfast/data/partition"
)

// dealer deals one set as a configuration says.
type dealer struct {
	*Config
	fed    *Federation
	labels []int32 // of the samples that train deals
	key    uint64
}

// train deals the samples of d.labels.
func (d *dealer) train() ([][]int32, error) {
	sizes, err := d.sizes()
	if err != nil {
		return nil, err
	}
	switch d.Partition {
	case partitionDirichlet:
		mixes := partition.Dirichlet(d.labels, d.fed.Classes, len(sizes), d.Alpha, d.key)
		return partition.ByMix(d.labels, mixes, sizes, d.key), nil
	case partitionShards:
		if least := slices.Min(sizes); least < d.Shards {
			return nil, fmt.Errorf("data.shards = %d: a client of %d samples has no sample for each", d.Shards, least)
		}
		return partition.Shards(d.labels, d.fed.Classes, sizes, d.Shards, d.key), nil
	case partitionClasses:
		return d.byClasses(sizes)
	}
	return partition.IID(len(d.labels), sizes, d.key), nil
}

// test deals the test samples of the files: sizes[i] to client i, which got
// trains[i] to train on, of the same classes in the same proportions.
func (d *dealer) test(trains [][]int32, labels []int32, sizes []int) [][]int32 {
	key := draw.Key(d.key, 1)
	if d.Partition == partitionIID {
		return partition.IID(len(labels), sizes, key)
	}
	mixes := make([][]int, len(trains))
	for i, samples := range trains {
		mixes[i] = make([]int, d.fed.Classes)
		for _, s := range samples {
			mixes[i][d.labels[s]]++
		}
	}
	dealt, short := partition.Like(labels, mixes, sizes, key)
	if short > 0 {
		d.note("clients get %d test samples less than their share: their classes have no more", short)
	}
	return dealt
}

// sizes returns how many samples each client gets, one entry a client.
func (d *dealer) sizes() ([]int, error) {
	n, clients := len(d.labels), d.Clients
	total := n
	switch {
	case len(d.Sizes) > 0:
		var sizes []int
		for i, left := 0, n; i < clients; i++ {
			size := d.Sizes[i%len(d.Sizes)]
			if left -= size; left < 0 {
				return nil, fmt.Errorf("data.sizes = %v: %d samples are enough for %d clients, not for %d (data.clients)", d.Sizes, n, i, clients)
			}
			sizes = append(sizes, size)
		}
		return sizes, nil
	case d.skewed():
		if d.Samples > 0 {
			total = clients * d.Samples
		}
		if total > n || clients*d.MinSamples > total {
			return nil, fmt.Errorf("data.clients = %d, data.samples = %d, data.min_samples = %d: there are %d samples to deal", clients, d.Samples, d.MinSamples, n)
		}
		return d.spread(clients, total), nil
	}
	each := d.Samples
	if each == 0 {
		each = n / clients
	}
	if each > 0 && clients > n/each {
		clients = n / each
		d.note("%d samples are enough for %d clients of %d (data.samples), not for %d (data.clients)", n, clients, each, d.Clients)
	}
	if each == 0 || clients == 0 {
		return nil, fmt.Errorf("data.clients = %d, data.samples = %d: there are %d samples to deal", d.Clients, d.Samples, n)
	}
	return d.spread(clients, each*clients), nil
}

// skewed says whether a law makes the sizes differ.
func (d *dealer) skewed() bool { return d.SizeSigma > 0 || d.SizeExponent > 0 }

// spread returns sizes that sum to total, without a law as many for each as go.
func (d *dealer) spread(clients, total int) []int {
	switch {
	case d.SizeSigma > 0:
		return partition.LogNormal(clients, total, d.MinSamples, d.SizeSigma, d.key)
	case d.SizeExponent > 0:
		return partition.PowerLaw(clients, total, d.MinSamples, d.SizeExponent, d.key)
	}
	return slices.Repeat([]int{total / clients}, clients)
}

// byClasses deals to each client its number of classes. Where data.samples
// leaves the total open, it is the largest, in steps of a hundredth, for which
// the classes last.
func (d *dealer) byClasses(sizes []int) ([][]int32, error) {
	clients := len(sizes)
	held := make([]int, clients)
	for i := range held {
		held[i] = d.ClientClasses
		if len(d.HI) > 0 {
			held[i] = partition.HeldClasses(d.HI[i/max(1, len(d.Sizes))%len(d.HI)], d.fed.Classes)
		}
		if held[i] > d.fed.Classes {
			return nil, fmt.Errorf("data.client_classes = %d: %s has %d classes", held[i], d.Name, d.fed.Classes)
		}
	}
	all := 0
	for _, size := range sizes {
		all += size
	}
	for total := all; ; {
		for i, size := range sizes {
			if size < held[i] {
				return nil, fmt.Errorf("data.partition = %q: a client of %d samples cannot hold %d classes", d.Partition, size, held[i])
			}
		}
		dealt, short := partition.Classes(d.labels, d.fed.Classes, held, sizes, d.key)
		if short == 0 {
			if total < all {
				d.note("%d of %d samples are left out: with them the classes would not last for the clients", all-total, all)
			}
			return dealt, nil
		}
		next := (total - max(clients, total/100)) / clients * clients
		if d.Samples > 0 || len(d.Sizes) > 0 || next < clients*max(1, d.MinSamples) {
			return nil, fmt.Errorf("data.partition = %q: the classes of %d clients are %d samples short of %d; ask for fewer samples or more classes of a client", d.Partition, clients, short, total)
		}
		total = next
		sizes = d.spread(clients, total)
	}
}

func (d *dealer) note(format string, args ...any) {
	d.fed.Notes = append(d.fed.Notes, fmt.Sprintf(format, args...))
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
