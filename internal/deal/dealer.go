package deal

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// The ways to deal a set: the values of data.partition.
const (
	WayIID       = "iid"
	WayDirichlet = "dirichlet"
	WayShards    = "shards"
	WayClasses   = "classes"
	WayCapped    = "dirichlet-capped"
	WayBlocked   = "classes-blocked"
)

// Plan describes how samples are dealt. Its fields are the fields of data.Config, which
// describes what they mean and checks them; errors name them by their keys.
type Plan struct {
	Way                     string
	Alpha                   float64
	Shards, ClientClasses   int
	HI                      []float64
	Clients, Samples        int
	Sizes                   []int
	SizeSigma, SizeExponent float64
	MinSamples              int
}

// Dealer deals one set as a plan says.
type Dealer struct {
	Plan
	Name    string  // of the set
	Labels  []int32 // of the samples that Train deals
	Classes int     // labels are in [0, Classes)
	Key     uint64
	Notes   []string // what is not quite as planned, a plain line each
}

// Train deals the samples of d.Labels: the places of those that each client gets.
func (d *Dealer) Train() ([][]int32, error) {
	switch d.Way {
	case WayCapped:
		return d.capped()
	case WayBlocked:
		return d.blocked()
	}
	sizes, err := d.sizes()
	if err != nil {
		return nil, err
	}
	switch d.Way {
	case WayDirichlet:
		mixes := Dirichlet(d.Labels, d.Classes, len(sizes), d.Alpha, d.Key)
		dealt, strayed := ByMix(d.Labels, mixes, sizes, d.Key)
		if strayed >= 0.01 {
			d.note("%.0f %% of the samples are of other classes than their clients drew (data.alpha = %v): those had run out; with a lower data.samples clients keep to their draws", 100*strayed, d.Alpha)
		}
		return dealt, nil
	case WayShards:
		if least := slices.Min(sizes); least < d.Shards {
			return nil, fmt.Errorf("data.shards = %d: a client of %d samples has too few", d.Shards, least)
		}
		return Shards(d.Labels, d.Classes, sizes, d.Shards, d.Key), nil
	case WayClasses:
		return d.byClasses(sizes)
	}
	return IID(len(d.Labels), sizes, d.Key), nil
}

// Test deals the test samples of the files: sizes[i] to client i, which got
// trains[i] to train on, of the same classes in the same proportions as far as they
// last.
func (d *Dealer) Test(trains [][]int32, labels []int32, sizes []int) [][]int32 {
	key := draw.Key(d.Key, 1)
	if d.Way == WayIID {
		return IID(len(labels), sizes, key)
	}
	mixes := make([][]int, len(trains))
	for i, samples := range trains {
		mixes[i] = make([]int, d.Classes)
		for _, s := range samples {
			mixes[i][d.Labels[s]]++
		}
	}
	dealt, short, shift := Like(labels, mixes, sizes, key)
	if short > 0 {
		d.note("clients get %d test samples fewer than their share: their classes have no more", short)
	}
	if shift >= 0.05 {
		d.note("the files' test samples have other shares of the classes than the training samples: a client's test classes are %.2f off its own on average (total variation)", shift)
	}
	return dealt
}

// sizes returns how many samples each client gets, one entry a client.
func (d *Dealer) sizes() ([]int, error) {
	n, clients := len(d.Labels), d.Clients
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
			return nil, fmt.Errorf("data.clients = %d, data.samples = %d, data.min_samples = %d: only %d samples to deal", clients, d.Samples, d.MinSamples, n)
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
		return nil, fmt.Errorf("data.clients = %d, data.samples = %d: only %d samples to deal", d.Clients, d.Samples, n)
	}
	return d.spread(clients, each*clients), nil
}

// skewed reports whether a law makes the sizes differ.
func (d *Dealer) skewed() bool { return d.SizeSigma > 0 || d.SizeExponent > 0 }

// spread returns sizes that sum to total, without a law as many for each as go.
func (d *Dealer) spread(clients, total int) []int {
	switch {
	case d.SizeSigma > 0:
		return LogNormal(clients, total, d.MinSamples, d.SizeSigma, d.Key)
	case d.SizeExponent > 0:
		return PowerLaw(clients, total, d.MinSamples, d.SizeExponent, d.Key)
	}
	return slices.Repeat([]int{total / clients}, clients)
}

// byClasses deals to each client its number of classes. Where data.samples
// leaves the total open, it is the largest, in steps of a hundredth, for which
// the classes last.
func (d *Dealer) byClasses(sizes []int) ([][]int32, error) {
	clients := len(sizes)
	held := make([]int, clients)
	for i := range held {
		held[i] = d.ClientClasses
		if len(d.HI) > 0 {
			held[i] = HeldClasses(d.HI[i/max(1, len(d.Sizes))%len(d.HI)], d.Classes)
		}
		if held[i] > d.Classes {
			return nil, fmt.Errorf("data.client_classes = %d: %s has %d classes", held[i], d.Name, d.Classes)
		}
	}
	all := list.Sum(sizes, func(size int) int { return size })
	for total := all; ; {
		for i, size := range sizes {
			if size < held[i] {
				return nil, fmt.Errorf("data.partition = %q: a client of %d samples cannot hold %d classes", d.Way, size, held[i])
			}
		}
		dealt, short := Classes(d.Labels, d.Classes, held, sizes, d.Key)
		if short == 0 {
			if total < all {
				d.note("%d of %d samples are left out: with them the classes would not last for the clients", all-total, all)
			}
			return dealt, nil
		}
		next := (total - max(clients, total/100)) / clients * clients
		if d.Samples > 0 || len(d.Sizes) > 0 || next < clients*max(1, d.MinSamples) {
			return nil, fmt.Errorf("data.partition = %q: the classes of %d clients are %d samples short of %d; ask for fewer samples or more classes of a client", d.Way, clients, short, total)
		}
		total = next
		sizes = d.spread(clients, total)
	}
}

func (d *Dealer) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}
