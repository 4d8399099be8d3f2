package choose

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// Oort chooses clients by how much and how fast they are likely to help (Lai et al. 2021,
// arXiv 2010.06081): most of them among those of the highest utilities, the others among
// those that have not trained before, in proportion to their devices' speeds.
type Oort struct {
	cfg    fleet.Sampler
	key    Key
	speeds []int64

	known   []trained       // clients of which something is known
	at      map[int32]int32 // their places in known
	scale   scale
	pace    pace
	results int // since the ranking was made
	round   int

	ranking order.Ranking    // of those of the known that are in the set
	fresh   order.Bag[int64] // the others in the set
	chosen  []int32
	ranked  []order.Ranked
	sorted  []float32
}

// NewOort returns an Oort of clients with such speeds.
func NewOort(cfg fleet.Sampler, speeds []int64, key Key) *Oort {
	return &Oort{cfg: cfg, key: key, speeds: speeds, at: map[int32]int32{}, pace: pace{quantile: float32(cfg.Pace)}}
}

// Set implements Chooser.
func (c *Oort) Set(s fleet.Sampler) {
	if c.cfg = s; c.pace.rounds == 0 {
		c.pace.quantile = float32(s.Pace)
	}
	c.weigh()
}

// weigh makes the ranking of those that are in it.
func (c *Oort) weigh() {
	for i := range c.known {
		if k := &c.known[i]; k.weight > 0 {
			k.weight = c.weight(k)
		}
	}
	c.fill()
}

// Reset implements Chooser.
func (c *Oort) Reset(out map[int32]bool) {
	c.fresh = order.NewBag(len(c.speeds), c.speeds, func(i int) bool {
		_, known := c.at[int32(i)]
		return known || out[int32(i)]
	})
	for i := range c.known {
		k := &c.known[i]
		k.weight = 0
		if !out[k.client] {
			k.weight = c.weight(k)
		}
	}
	c.fill()
}

// fill makes the ranking of those that have a weight.
func (c *Oort) fill() {
	c.ranked = c.ranked[:0]
	for i := range c.known {
		if k := &c.known[i]; k.weight > 0 {
			c.ranked = append(c.ranked, order.Ranked{Weight: k.weight, Client: k.client})
		}
	}
	slices.SortFunc(c.ranked, func(a, b order.Ranked) int {
		if a.Weight != b.Weight {
			return cmp.Compare(b.Weight, a.Weight)
		}
		return cmp.Compare(a.Client, b.Client)
	})
	c.ranking.Fill(c.ranked)
}

// Choose implements Chooser.
func (c *Oort) Choose(_ context.Context, p clock.Choice) ([]int32, error) {
	key := c.key(p.Draw)
	share := max(float64(c.cfg.Exploration*det.Exp(float64(c.round)*det.Log(c.cfg.ExplorationDecay))), c.cfg.ExplorationMin)
	explored := int(float64(share*float64(p.Number)) + kernels.NewStream(key, 1).Float64())
	explored = min(max(explored, p.Number-c.ranking.Len()), c.fresh.Len())
	c.chosen = c.chosen[:0]
	c.exploit(p, p.Number-explored, kernels.NewStream(key, 2))
	for draws := kernels.NewStream(key, 3); len(c.chosen) < p.Number && c.fresh.Len() > 0; {
		if client := int32(c.fresh.Draw(draws)); p.There(client) {
			c.chosen = append(c.chosen, client)
		}
	}
	c.exploit(p, p.Number-len(c.chosen), kernels.NewStream(key, 4))
	return c.chosen, nil
}

// exploit draws n clients by their utilities among those that come close to the n-th.
func (c *Oort) exploit(p clock.Choice, n int, draws *kernels.Stream) {
	for rank := 0; rank < min(n, c.ranking.Len()); {
		if client := c.ranking.At(rank).Client; p.There(client) {
			rank++
		} else {
			c.take(client)
		}
	}
	if n = min(n, c.ranking.Len()); n <= 0 {
		return
	}
	cut := int64(c.cfg.Cutoff * float64(c.ranking.At(n-1).Weight))
	for sum := c.ranking.Above(cut); n > 0; {
		x := c.ranking.Find(int64(draws.IntN(int(sum))))
		c.take(x.Client)
		if sum -= x.Weight; p.There(x.Client) {
			c.chosen = append(c.chosen, x.Client)
			n--
		}
	}
}

// take takes a client from the ranking.
func (c *Oort) take(client int32) {
	k := &c.known[c.at[client]]
	c.ranking.Take(order.Ranked{Weight: k.weight, Client: client})
	k.weight = 0
}

// Put implements Chooser.
func (c *Oort) Put(client int32) {
	i, known := c.at[client]
	if !known {
		c.fresh.Put(int(client))
		return
	}
	k := &c.known[i]
	k.weight = c.weight(k)
	c.ranking.Put(order.Ranked{Weight: k.weight, Client: client})
}

// End implements Chooser.
func (c *Oort) End(client int32, _ uint64) { c.Put(client) }

// State implements Chooser.
func (c *Oort) State() [][]float32 {
	s, p := &c.scale, &c.pace
	state := [][]float32{{float32(c.round), float32(c.results), s.lowest, s.clip, s.preferred, s.round, p.quantile, p.sum, p.before, p.rounds}, {}, {}, {}, {}}
	for i := range c.known {
		k := &c.known[i]
		for column, x := range []float32{float32(k.client), float32(k.last), k.utility, k.seconds} {
			state[column+1] = append(state[column+1], x)
		}
	}
	return state
}

// Load implements Chooser.
func (c *Oort) Load(state [][]float32) error {
	if len(state) != 5 || len(state[0]) != 10 {
		return misfit("arrays of other lengths")
	}
	rows, err := columns(state[1:], 4, len(c.speeds))
	if err != nil {
		return err
	}
	for _, x := range slices.Concat(state...) {
		if !(x >= 0 && x <= math.MaxFloat32) {
			return misfit("it has %v", x)
		}
	}
	x := state[0]
	c.round, c.results = int(x[0]), int(x[1])
	c.scale, c.pace = scale{x[2], x[3], x[4], x[5]}, pace{x[6], x[7], x[8], x[9]}
	for i, client := range rows[0] {
		if !(rows[1][i] >= 1 && rows[1][i] < part) {
			return misfit("client %v took part in round %v", client, rows[1][i])
		}
		c.at[int32(client)] = int32(len(c.known))
		c.known = append(c.known, trained{client: int32(client), last: int32(rows[1][i]), utility: rows[2][i], seconds: rows[3][i]})
	}
	return nil
}
