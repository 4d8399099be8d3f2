package data

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/draw"
)

// draw splits 0 to n-1 at random into Proxy places that are set apart and the
// rest, each in ascending order.
func (c *Config) draw(n int) (proxy, rest []int32, err error) {
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	if c.Proxy == 0 {
		return nil, order, nil
	}
	if c.Proxy >= n {
		return nil, nil, fmt.Errorf("data.proxy = %d: only %d training samples", c.Proxy, n)
	}
	draw.New(c.Seed, draw.Proxy).Shuffle(order)
	proxy, rest = order[:c.Proxy:c.Proxy], order[c.Proxy:]
	slices.Sort(proxy)
	slices.Sort(rest)
	return proxy, rest, nil
}

// at returns the values at the given places.
func at(values, places []int32) []int32 {
	out := make([]int32, len(places))
	for i, p := range places {
		out[i] = values[p]
	}
	return out
}

// setApart takes Proxy samples out of the writers' training samples.
func (c *Config) setApart(writers []Examples) (View, error) {
	if c.Proxy == 0 {
		return View{}, nil
	}
	total := 0
	for _, w := range writers {
		total += w.Train.Len()
	}
	proxy, _, err := c.draw(total)
	if err != nil {
		return View{}, err
	}
	var taken gathered
	first := 0 // number of the writer's first sample
	for i := range writers {
		v := writers[i].Train
		var kept []int32
		for j := range v.Len() {
			if len(proxy) > 0 && int(proxy[0]) == first+j {
				proxy = proxy[1:]
				taken = append(taken, sample{v.src, v.at(j)})
			} else {
				kept = append(kept, v.at(j))
			}
		}
		first += v.Len()
		if len(kept) < v.Len() {
			writers[i].Train = chosen(v.src, kept)
		}
	}
	return span(taken, 0, len(taken)), nil
}

// sample is one example of a source.
type sample struct {
	src source
	at  int32
}

// gathered is a source of examples of several sources of one form.
type gathered []sample

func (g gathered) read(at int32, x []float32, tokens []int32, aug *Augment) int32 {
	return g[at].src.read(g[at].at, x, tokens, aug)
}

func (g gathered) label(at int32) int32 { return g[at].src.label(g[at].at) }

func (g gathered) size() (floats, tokens int) { return g[0].src.size() }

// Side describes a proxy federation.
type Side struct {
	Clients int
	Samples int     // of each client
	HI      float64 // heterogeneity index of each client, 0..1: it holds deal.HeldClasses(HI) classes
	Test    int     // proxy samples that no client gets; the same ones for every Side
	Seed    uint64  // decides which samples and classes the clients get
}

// Side deals a proxy federation of f's proxy samples. Its clients have training
// examples only; the Test samples are those of its one unseen client. Where the
// samples are too few for all clients, clients are dealt each on its own and
// share samples; where they are too few for one client, it gets fewer. Both are
// told in the notes.
func (f *Federation) Side(s Side) (*Federation, error) {
	n := f.Proxy.Len()
	switch {
	case n == 0:
		return nil, errors.New("a proxy federation needs data.proxy samples")
	case f.Kind == Tokens:
		return nil, fmt.Errorf("a proxy federation needs one class per sample; %s is text", f.Name)
	case s.Test < 1 || s.Test >= n:
		return nil, fmt.Errorf("data.proxy_test = %d: must be from 1 to %d, less than data.proxy", s.Test, n-1)
	case s.Clients < 1 || s.Samples < 1 || !(s.HI >= 0 && s.HI <= 1):
		return nil, fmt.Errorf("a proxy federation of %d clients of %d samples with heterogeneity index %v: must be 1 or more, and 0..1", s.Clients, s.Samples, s.HI)
	}
	order := f.Proxy.places()
	draw.New(uint64(n), draw.Proxy).Shuffle(order)
	pool := chosen(f.Proxy.src, order[s.Test:])
	side := &Federation{
		Name: f.Name + " (proxy)", Doc: "a proxy federation of " + f.Name, Kind: f.Kind, H: f.H, W: f.W, C: f.C, Classes: f.Classes, Synthetic: f.Synthetic,
		Unseen: []Client{{ID: "proxy", Test: chosen(f.Proxy.src, order[:s.Test])}},
	}
	for i, samples := range s.deal(f.Classes, pool, side) {
		side.Clients = append(side.Clients, Client{ID: numbered(i, 4), Train: chosen(pool.src, at(pool.index, samples))})
	}
	return side, nil
}

// deal returns the places in pool of each client's samples.
func (s Side) deal(classes int, pool View, side *Federation) [][]int32 {
	labels := pool.labels()
	held := slices.Repeat([]int{deal.HeldClasses(s.HI, classes)}, s.Clients)
	sizes := slices.Repeat([]int{max(s.Samples, held[0])}, s.Clients)
	key := draw.Key(s.Seed, draw.Partition)
	if s.Clients*sizes[0] <= len(labels) {
		if dealt, short := deal.Classes(labels, classes, held, sizes, key); short == 0 {
			return dealt
		}
	}
	side.Notes = append(side.Notes, fmt.Sprintf("%d proxy samples are too few for %d clients of %d: they share some", len(labels), s.Clients, s.Samples))
	dealt := make([][]int32, s.Clients)
	least := sizes[0]
	for i := range dealt {
		one, _ := deal.Classes(labels, classes, held[:1], []int{min(sizes[0], len(labels))}, draw.Key(key, uint64(i)))
		dealt[i] = one[0]
		least = min(least, len(dealt[i]))
	}
	if least < s.Samples {
		side.Notes = append(side.Notes, fmt.Sprintf("a client of %d classes gets %d samples instead of %d: its classes have no more", held[0], least, s.Samples))
	}
	return dealt
}
