package choose

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// Order is the order of clients by the time that they are expected to take.
type Order struct {
	clients []int32 // from the fastest
	place   []int32 // of each client
}

// NewOrder returns the order of clients by the seconds that they take.
func NewOrder(seconds []float64) *Order {
	o := &Order{clients: make([]int32, len(seconds)), place: make([]int32, len(seconds))}
	for i := range o.clients {
		o.clients[i] = int32(i)
	}
	slices.SortFunc(o.clients, func(a, b int32) int { return cmp.Or(cmp.Compare(seconds[a], seconds[b]), cmp.Compare(a, b)) })
	for place, client := range o.clients {
		o.place[client] = int32(place)
	}
	return o
}

// Tiers chooses clients of one tier, drawn in proportion to the tiers' losses (TiFL, Chai et
// al. 2020). A tier that has not trained counts as the one with the highest loss.
type Tiers struct {
	of     *Order
	key    Key
	first  []int     // place of each tier's first client, and the end
	losses []float32 // negative before they trained
	set    order.Bag[int32]
	chosen []int32
	tried  []int32
}

// NewTiers returns Tiers of clients in an order.
func NewTiers(of *Order, s fleet.Sampler, key Key) *Tiers {
	c := &Tiers{of: of, key: key}
	c.Set(s)
	return c
}

// Set implements Chooser. Tiers of another number have not trained.
func (c *Tiers) Set(s fleet.Sampler) {
	if s.Tiers == len(c.losses) {
		return
	}
	c.losses, c.first = make([]float32, s.Tiers), make([]int, s.Tiers+1)
	for i := range c.losses {
		c.losses[i] = -1
		c.first[i+1] = ((i+1)*len(c.of.clients) + s.Tiers - 1) / s.Tiers
	}
}

// Tier returns a client's tier, 0 for the fastest.
func (c *Tiers) Tier(client int32) int {
	return sort.SearchInts(c.first, int(c.of.place[client])+1) - 1
}

// Reset implements Chooser.
func (c *Tiers) Reset(out map[int32]bool) {
	c.set = order.NewBag[int32](len(c.of.clients), nil, func(i int) bool { return out[c.of.clients[i]] })
}

// Choose implements Chooser. The tier is one with enough clients that are there, or with the
// most.
func (c *Tiers) Choose(_ context.Context, p clock.Choice) ([]int32, error) {
	key, most, best := c.key(p.Draw), 0, int32(-1)
	for _, tier := range c.drawn(kernels.Key(key, math.MaxUint64)) {
		if c.try(tier, p, key); len(c.chosen) == p.Number {
			return c.chosen, nil
		}
		if len(c.chosen) > most {
			most, best = len(c.chosen), tier
		}
		for _, client := range c.chosen {
			c.Put(client)
		}
	}
	if c.chosen = c.chosen[:0]; best >= 0 {
		c.try(best, p, key)
	}
	return c.chosen, nil
}

// try chooses clients of a tier.
func (c *Tiers) try(tier int32, p clock.Choice, key uint64) {
	c.chosen = c.chosen[:0]
	lo, hi := c.first[tier], c.first[tier+1]
	before, draws := c.set.Below(lo), kernels.NewStream(key, 0)
	for n := int(c.set.Below(hi) - before); n > 0 && len(c.chosen) < p.Number; n-- {
		place := c.set.At(before + int32(draws.IntN(n)))
		c.set.Take(place)
		if client := c.of.clients[place]; p.There(client) {
			c.chosen = append(c.chosen, client)
		}
	}
}

// drawn returns the tiers in the order in which they are drawn without replacement, in
// proportion to their losses: by exponential times of these rates (Efraimidis and Spirakis
// 2006).
func (c *Tiers) drawn(key uint64) []int32 {
	highest := float64(slices.Max(c.losses))
	if highest <= 0 {
		highest = 1
	}
	time := func(tier int32) float64 {
		loss := highest
		if l := float64(c.losses[tier]); l >= 0 {
			loss = max(l, 1e-6*highest)
		}
		return -det.Log(1-det.Unit(kernels.Key(key, uint64(tier)))) / loss
	}
	c.tried = c.tried[:0]
	for tier := range int32(len(c.losses)) {
		c.tried = append(c.tried, tier)
	}
	slices.SortFunc(c.tried, func(a, b int32) int { return cmp.Or(cmp.Compare(time(a), time(b)), cmp.Compare(a, b)) })
	return c.tried
}

// Put implements Chooser.
func (c *Tiers) Put(client int32) { c.set.Put(int(c.of.place[client])) }

// End implements Chooser.
func (c *Tiers) End(client int32, _ uint64) { c.Put(client) }

// Learn keeps the mean loss of a round as its tier's.
func (c *Tiers) Learn(_ int, results []Result) {
	sum, n, tier := 0.0, 0.0, 0
	for i := range results {
		if r := &results[i]; !r.Lost && !r.Dropped && det.Finite(r.Loss) {
			sum += float64(r.Loss * float64(r.Samples))
			n += float64(r.Samples)
			tier = c.Tier(r.Client)
		}
	}
	if n > 0 {
		c.losses[tier] = float32(sum / n)
	}
}

// State implements Chooser.
func (c *Tiers) State() [][]float32 { return [][]float32{slices.Clone(c.losses)} }

// Load implements Chooser.
func (c *Tiers) Load(state [][]float32) error {
	if len(state) != 1 || len(state[0]) < 2 || len(state[0]) > len(c.of.clients) {
		return misfit("its losses are not those of tiers")
	}
	c.Set(fleet.Sampler{Tiers: len(state[0])})
	copy(c.losses, state[0])
	return nil
}
