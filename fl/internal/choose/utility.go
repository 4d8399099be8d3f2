package choose

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/kernels/det"
)

// leastUtility keeps clients without any utility from being drawn never.
const leastUtility = 1e-4

// A ranking is made anew when results of this share of the clients that have trained have
// come in: after every round while these are few, and at a bounded cost for each result when
// they are many.
const renewed = 1. / 16

// trained is what is known of a client.
type trained struct {
	client  int32
	last    int32 // round in which it last took part, from 1
	utility float32
	seconds float32
	weight  int64 // in the ranking, 0 for a client that is not in it
}

// scale is what makes utilities comparable.
type scale struct {
	lowest, clip float32 // of the statistical utilities
	preferred    float32 // seconds T
	round        float32
}

// pace is the pacer: the quantile of the seconds, sums of utilities of these rounds and those
// before, and their number.
type pace struct{ quantile, sum, before, rounds float32 }

// weight returns a client's utility as an integer, above 0.
func (c *Oort) weight(k *trained) int64 { return int64(c.utility(k) * (1 << 30)) }

// utility returns a client's utility: the statistical one, clipped at a quantile and scaled
// to [0, 1] as in the authors' code, with a bonus for those that have waited long and less
// for those that take longer than T.
func (c *Oort) utility(k *trained) float64 {
	s := &c.scale
	width := max(float64(s.clip)-float64(s.lowest), leastUtility)
	u := (float64(min(k.utility, s.clip)) - float64(s.lowest)) / width
	u += math.Sqrt(float64(0.1*det.Log(max(float64(s.round), 1))) / float64(k.last))
	if k.seconds > s.preferred && s.preferred > 0 {
		u = float64(u * det.Exp(-float64(c.cfg.Penalty*det.Log(float64(k.seconds)/float64(s.preferred)))))
	}
	return max(u, leastUtility)
}

// Learn keeps the utilities of a round's clients: the number of samples times the root of
// the mean squared loss, of batches. One whose work was lost keeps its own, or has its number
// of samples. Where the utilities of the last rounds are less than those of as many rounds
// before, the pacer lets clients take longer.
func (c *Oort) Learn(round int, results []Result) {
	c.round = round
	taken, sum := 0, 0.0
	for i := range results {
		r := &results[i]
		k := c.learned(r.Client)
		k.last = int32(round)
		if r.Lost {
			k.utility = cmp.Or(k.utility, float32(r.Samples))
			k.seconds = max(k.seconds, float32(r.Seconds))
			continue
		}
		u := float64(r.Samples) * math.Sqrt(r.Squared)
		if r.Dropped || !det.Finite(u) {
			u = 0
		}
		k.utility, k.seconds = float32(min(u, math.MaxFloat32)), float32(r.Seconds)
		taken, sum = taken+1, sum+u
	}
	c.pace.next(&c.cfg, float32(sum/float64(max(taken, 1))))
	c.results += len(results)
	if float64(c.results) >= renewed*float64(len(c.known)) {
		c.rescale()
		return
	}
	for i := range results {
		if k := &c.known[c.at[results[i].Client]]; k.weight > 0 {
			c.take(k.client)
			c.Put(k.client)
		}
	}
}

// learned returns what is known of a client, from now on.
func (c *Oort) learned(client int32) *trained {
	i, known := c.at[client]
	if !known {
		i = int32(len(c.known))
		c.at[client] = i
		c.known = append(c.known, trained{client: client})
		if c.fresh.Has(int(client)) {
			c.fresh.Take(int(client))
			k := &c.known[i]
			k.last, k.weight = 1, 1
			c.ranking.Put(order.Ranked{Weight: 1, Client: client})
		}
	}
	return &c.known[i]
}

// next ends a round of clients of a mean utility.
func (p *pace) next(cfg *fleet.Sampler, mean float32) {
	p.sum += mean
	if p.rounds++; int(p.rounds)%cfg.PaceRounds != 0 {
		return
	}
	if int(p.rounds) > cfg.PaceRounds && p.sum < p.before {
		p.quantile = min(p.quantile+float32(cfg.PaceStep), 1)
	}
	p.sum, p.before = 0, p.sum
}

// rescale makes the utilities, and their ranking, anew.
func (c *Oort) rescale() {
	c.results = 0
	c.scale.round = float32(c.round + 1)
	c.scale.lowest, c.scale.clip = c.quantile(c.cfg.Clip, func(k *trained) float32 { return k.utility })
	_, c.scale.preferred = c.quantile(float64(c.pace.quantile), func(k *trained) float32 { return k.seconds })
	c.weigh()
}

// quantile returns the least value of the known clients, and that below which a share of
// them are.
func (c *Oort) quantile(share float64, of func(*trained) float32) (least, at float32) {
	c.sorted = c.sorted[:0]
	for i := range c.known {
		c.sorted = append(c.sorted, of(&c.known[i]))
	}
	if len(c.sorted) == 0 {
		return 0, 0
	}
	slices.Sort(c.sorted)
	return c.sorted[0], c.sorted[min(int(float64(share*float64(len(c.sorted)))), len(c.sorted)-1)]
}
