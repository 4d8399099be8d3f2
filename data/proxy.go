package data

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
)

// draw splits 0 to n-1 at random into Proxy places that are set apart and the
// rest, each in ascending order.
func (c *Config) draw(n int) (proxy, rest []int32, err error) {
	order := list.Made(n, func(i int) int32 { return int32(i) })
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
	out := list.Made(len(places), func(i int) int32 { return values[places[i]] })
	return out
}

// setApart takes Proxy samples out of the writers' training samples.
func (c *Config) setApart(writers []Examples) (View, error) {
	if c.Proxy == 0 {
		return View{}, nil
	}
	total := list.Sum(writers, func(w Examples) int { return w.Train.Len() })
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
	Clients []SideClient // at least one
	Test    int          // proxy samples that no client gets; the same ones for every Side
	Seed    uint64       // decides which samples and classes the clients get
}

// SideClient is what a client of a proxy federation holds.
type SideClient struct {
	Samples int     // at least 1; as many as it holds classes if that is more
	HI      float64 // heterogeneity index, 0..1: it holds deal.HeldClasses(HI) classes
}

// Side deals a proxy federation of f's proxy samples. Its clients have training
// examples only; the Test samples belong to its one unseen client. Where the
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
	case len(s.Clients) == 0:
		return nil, errors.New("a proxy federation needs at least 1 client")
	}
	for _, c := range s.Clients {
		if c.Samples < 1 || !(c.HI >= 0 && c.HI <= 1) {
			return nil, fmt.Errorf("a proxy federation with a client of %d samples with heterogeneity index %v: must be 1 or more, and 0..1", c.Samples, c.HI)
		}
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
	held, sizes, all := make([]int, len(s.Clients)), make([]int, len(s.Clients)), 0
	for i, c := range s.Clients {
		held[i] = deal.HeldClasses(c.HI, classes)
		sizes[i] = max(c.Samples, held[i])
		all += min(sizes[i], len(labels)+1)
	}
	key := draw.Key(s.Seed, draw.Partition)
	if all <= len(labels) {
		if dealt, short := deal.Classes(labels, classes, held, sizes, key); short == 0 {
			return dealt
		}
	}
	side.Notes = append(side.Notes, fmt.Sprintf("%d proxy samples are too few for %s: they share some", len(labels), s.clients()))
	dealt, lacks, note := make([][]int32, len(s.Clients)), 0, ""
	for i, c := range s.Clients {
		one, _ := deal.Classes(labels, classes, held[i:i+1], []int{min(sizes[i], len(labels))}, draw.Key(key, uint64(i)))
		dealt[i] = one[0]
		if n := len(dealt[i]); c.Samples-n > lacks {
			lacks, note = c.Samples-n, fmt.Sprintf("a client of %d classes gets %d samples instead of %d: its classes have no more", held[i], n, c.Samples)
		}
	}
	if lacks > 0 {
		side.Notes = append(side.Notes, note)
	}
	return dealt
}

// clients counts the clients: "5 clients of 100", "24 clients of 100 to 1000".
func (s Side) clients() string {
	least, most := s.Clients[0].Samples, s.Clients[0].Samples
	for _, c := range s.Clients {
		least, most = min(least, c.Samples), max(most, c.Samples)
	}
	if least == most {
		return fmt.Sprintf("%d clients of %d", len(s.Clients), least)
	}
	return fmt.Sprintf("%d clients of %d to %d", len(s.Clients), least, most)
}
