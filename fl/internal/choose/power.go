package choose

import (
	"cmp"
	"context"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/kernels"
)

// Power chooses the clients with the highest losses among candidates that are drawn by their
// numbers of samples (power of choice, Cho et al. 2020).
type Power struct {
	key        Key
	samples    []int64
	candidates int // 0: twice as many as are chosen
	set        order.Bag[int64]
	drawn      []int32
	// Ask has the candidates answer, and returns those that do.
	Ask func(candidates []int32) []int32
	// Losses are the losses of clients on the weights that they would train.
	Losses func(ctx context.Context, clients []int32) ([]float64, error)
	scored []scored
}

// scored is a candidate with its loss.
type scored struct {
	loss   float64
	client int32
}

// NewPower returns a Power of clients with these numbers of samples.
func NewPower(samples []int64, s fleet.Sampler, key Key) *Power {
	return &Power{key: key, samples: samples, candidates: s.Candidates}
}

// Set implements Chooser.
func (c *Power) Set(s fleet.Sampler) { c.candidates = s.Candidates }

// Reset implements Chooser.
func (c *Power) Reset(out map[int32]bool) {
	c.set = order.NewBag(len(c.samples), c.samples, func(i int) bool { return out[int32(i)] })
}

// Choose implements Chooser.
func (c *Power) Choose(ctx context.Context, p clock.Choice) ([]int32, error) {
	d := cmp.Or(c.candidates, 2*p.Number)
	c.drawn = c.drawn[:0]
	for draws := kernels.NewStream(c.key(p.Draw), 0); len(c.drawn) < d && c.set.Len() > 0; {
		if client := int32(c.set.Draw(draws)); p.There(client) {
			c.drawn = append(c.drawn, client)
		}
	}
	answered := c.Ask(c.drawn)
	losses, err := c.Losses(ctx, answered)
	for _, client := range c.drawn {
		c.Put(client)
	}
	if err != nil {
		return nil, err
	}
	c.scored = c.scored[:0]
	for i, client := range answered {
		c.scored = append(c.scored, scored{losses[i], client})
	}
	slices.SortFunc(c.scored, func(a, b scored) int { return cmp.Or(cmp.Compare(b.loss, a.loss), cmp.Compare(a.client, b.client)) })
	c.drawn = c.drawn[:0]
	for _, x := range c.scored[:min(p.Number, len(c.scored))] {
		c.set.Take(int(x.client))
		c.drawn = append(c.drawn, x.client)
	}
	return c.drawn, nil
}

// Put implements Chooser.
func (c *Power) Put(client int32) { c.set.Put(int(client)) }

// End implements Chooser.
func (c *Power) End(client int32, _ uint64) { c.Put(client) }

// Learn implements Chooser.
func (c *Power) Learn(int, []Result) {}

// State implements Chooser.
func (c *Power) State() [][]float32 { return nil }

// Load implements Chooser.
func (c *Power) Load(state [][]float32) error {
	if len(state) > 0 {
		return misfit("it keeps nothing from round to round, not %d arrays", len(state))
	}
	return nil
}
