package choose

import (
	"context"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/kernels"
)

// Longest chooses those that have not begun for the longest time: at random among those that
// never have, then the others in the order in which they last began.
type Longest struct {
	clients int
	key     Key
	last    map[int32]uint64 // number of a client's last job, from 1
	before  []turn           // what last had for those whose jobs have ended since the last round
	fresh   order.Bag[int32]
	begun   []turn // heap of the others in the set
	chosen  []int32
}

// turn is a client with the number of its last job, 0 for none.
type turn struct {
	job    uint64
	client int32
}

func (t *turn) isBefore(u *turn) bool { return t.job < u.job }

// NewLongest returns a Longest.
func NewLongest(clients int, key Key) *Longest {
	return &Longest{clients: clients, key: key, last: map[int32]uint64{}}
}

// Set implements Chooser: there are no options.
func (c *Longest) Set(fleet.Sampler) {}

// Reset implements Chooser.
func (c *Longest) Reset(out map[int32]bool) {
	for _, t := range slices.Backward(c.before) {
		if t.job > 0 {
			c.last[t.client] = t.job
		} else {
			delete(c.last, t.client)
		}
	}
	c.before, c.begun = c.before[:0], c.begun[:0]
	c.fresh = order.NewBag[int32](c.clients, nil, func(i int) bool { return out[int32(i)] || c.last[int32(i)] > 0 })
	for client, job := range c.last {
		if !out[client] {
			c.begun = order.Push(c.begun, turn{job, client}, (*turn).isBefore)
		}
	}
}

// Choose implements Chooser.
func (c *Longest) Choose(_ context.Context, p clock.Choice) ([]int32, error) {
	c.chosen = c.chosen[:0]
	draws := kernels.NewStream(c.key(p.Draw), 0)
	for len(c.chosen) < p.Number {
		var next turn
		switch {
		case c.fresh.Len() > 0:
			next.client = int32(c.fresh.Draw(draws))
		case len(c.begun) > 0:
			next, c.begun = order.Pop(c.begun, (*turn).isBefore)
		default:
			return c.chosen, nil
		}
		if p.There(next.client) {
			c.chosen = append(c.chosen, next.client)
		}
	}
	return c.chosen, nil
}

// Put implements Chooser.
func (c *Longest) Put(client int32) {
	if job := c.last[client]; job > 0 {
		c.begun = order.Push(c.begun, turn{job, client}, (*turn).isBefore)
	} else {
		c.fresh.Put(int(client))
	}
}

// End implements Chooser.
func (c *Longest) End(client int32, job uint64) {
	c.before = append(c.before, turn{c.last[client], client})
	c.last[client] = job + 1
	c.Put(client)
}

// Learn implements Chooser.
func (c *Longest) Learn(int, []Result) { c.before = c.before[:0] }

// State implements Chooser.
func (c *Longest) State() [][]float32 {
	state := make([][]float32, 4)
	for _, client := range slices.Sorted(maps.Keys(c.last)) {
		job := c.last[client]
		for i, x := range []uint64{uint64(client), job / part / part, job / part % part, job % part} {
			state[i] = append(state[i], float32(x))
		}
	}
	return state
}

// Load implements Chooser.
func (c *Longest) Load(state [][]float32) error {
	state, err := columns(state, 4, c.clients)
	if err != nil {
		return err
	}
	for i, client := range state[0] {
		job := uint64(0)
		for _, digits := range state[1:] {
			if !(digits[i] >= 0 && digits[i] < part) {
				return misfit("client %v has job %v", client, digits[i])
			}
			job = job*part + uint64(digits[i])
		}
		if c.last[int32(client)] = job; job == 0 {
			return misfit("client %v has no job", client)
		}
	}
	return nil
}
