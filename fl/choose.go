package fl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// checkSampler returns an error for clients that cannot be chosen as they are to.
func (c *Config) checkSampler() error {
	s := &c.Sampler
	problem := ""
	switch s.Kind {
	case "":
		return nil
	case fleet.Power, fleet.Oort, fleet.LongestWaiting, fleet.Tiers:
	default:
		return &key.Error{Key: "sampling", Problem: fmt.Sprintf(" = %q: must be one of without, with, poisson, %s", s.Kind, strings.Join(fleet.Samplers, ", "))}
	}
	clients, most := len(c.Data.Clients), c.Time.Working(c.Cohort)
	switch {
	case c.Replacement || c.Poisson || c.Shuffle:
		problem = "its clients are not drawn at random; leave Replacement, Poisson and Shuffle out"
	case c.Privacy != nil:
		problem = "the account of dp.* holds for clients that are drawn at random alone; use \"poisson\" or \"without\""
	case s.Kind == fleet.Power && c.Time.Asynchronous():
		problem = "a round waits for the losses of its candidates; use time.mode = \"sync\", or another sampling"
	case s.Kind == fleet.Tiers && c.Time.Asynchronous():
		problem = "a tier is that of a round; use time.mode = \"sync\", or another sampling"
	case s.Kind == fleet.Tiers && c.Fleet == nil:
		problem = "tiers are of clients with unequal devices; add [fleet], or use \"without\""
	case s.Kind == fleet.Power && s.Candidates > 0 && (s.Candidates < most || s.Candidates > clients):
		return &key.Error{Key: "sampler.candidates", Problem: fmt.Sprintf(" = %d: must be at least %d, the clients that train, and at most the %d clients of %s", s.Candidates, most, clients, c.Data.Name)}
	case s.Kind == fleet.Tiers && most > clients/max(s.Tiers, 1):
		return &key.Error{Key: "sampler.tiers", Problem: fmt.Sprintf(" = %d: a tier of the %d clients of %s has %d, but a round begins with %d; lower sampler.tiers or cohort", s.Tiers, clients, c.Data.Name, clients/max(s.Tiers, 1), most)}
	default:
		return nil
	}
	return &key.Error{Key: "sampling", Problem: fmt.Sprintf(" = %q: %s", s.Kind, problem)}
}

// chooser is what a trial remembers to choose clients by. Its arrays are float32, so that a
// snapshot keeps them as it keeps a server's.
type chooser struct {
	trial *Trial
	fleet.Sampler
	last    []float32 // the last round, from 1, in which a client began; 0 for none
	utility []float32 // Oort's statistical utility, by client
	seconds []float32 // that a client took
	pacer   []float32 // quantile of the seconds, sums of utilities of these rounds and those before, their number
	losses  []float32 // of the tiers; negative before they trained
}

// newChooser returns what a new trial chooses clients by, nil where they are drawn at random.
func (t *Trial) newChooser() *chooser {
	c := &chooser{trial: t, Sampler: t.engine.cfg.Sampler}
	n := len(t.engine.cfg.Data.Clients)
	switch c.Kind {
	case fleet.LongestWaiting:
		c.last = make([]float32, n)
	case fleet.Oort:
		c.last, c.utility, c.seconds = make([]float32, n), make([]float32, n), make([]float32, n)
		c.pacer = []float32{float32(c.Pace), 0, 0, 0}
	case fleet.Tiers:
		c.losses = make([]float32, c.Tiers)
		for i := range c.losses {
			c.losses[i] = -1
		}
	case fleet.Power:
	default:
		return nil
	}
	return c
}

// arrays are what a snapshot has of it.
func (c *chooser) arrays() (all [][]float32) {
	if c == nil {
		return nil
	}
	for _, a := range [][]float32{c.last, c.utility, c.seconds, c.pacer, c.losses} {
		if a != nil {
			all = append(all, a)
		}
	}
	return all
}

// cohort chooses the clients of a round without a fleet.
func (c *chooser) cohort(ctx context.Context) ([]int, error) {
	e := c.trial.engine
	all := make([]int32, len(e.cfg.Data.Clients))
	for i := range all {
		all[i] = int32(i)
	}
	pick := c.pick(ctx, func(candidates []int32) []int32 { return candidates })
	chosen, err := pick(clock.Choice{Clients: all, Number: e.cfg.Cohort, Draw: uint64(c.trial.round)})
	cohort := make([]int, len(chosen))
	for i, client := range chosen {
		cohort[i] = int(client)
	}
	return cohort, err
}

// pick returns what chooses clients. ask is told the candidates that evaluate the weights,
// and returns those that answer.
func (c *chooser) pick(ctx context.Context, ask func([]int32) []int32) clock.Pick {
	return func(p clock.Choice) ([]int32, error) {
		key := kernels.Key(c.trial.engine.cfg.Seed, uint64(c.trial.number), purposeChoice, p.Draw)
		switch c.Kind {
		case fleet.LongestWaiting:
			return c.longest(p, key), nil
		case fleet.Oort:
			return c.oort(p, key), nil
		case fleet.Tiers:
			return c.tier(p, key), nil
		}
		return c.power(ctx, p, key, ask)
	}
}

// unit is the draw of a client in a choice.
func unit(key uint64, client int32) float64 { return det.Unit(kernels.Key(key, uint64(client))) }

// longest returns the clients that have waited longest since they began, in a random order
// where these are several.
func (c *chooser) longest(p clock.Choice, key uint64) []int32 {
	now := map[int32]bool{}
	for _, jobs := range [][]clock.Job{p.Taken, p.Lost} {
		for i := range jobs {
			now[int32(jobs[i].Client)] = true
		}
	}
	return least(p.Clients, p.Number, func(client int32) float64 {
		last := float64(c.last[client])
		if now[client] {
			last = float64(c.trial.round + 1)
		}
		return last + unit(key, client)
	})
}

// weighted draws n different clients in proportion to their weights, one after the other:
// those with the least exponential times of these rates (Efraimidis and Spirakis 2006).
func weighted(clients []int32, n int, key uint64, weight func(client int32) float64) []int32 {
	return least(clients, n, func(client int32) float64 { return -det.Log(1-unit(key, client)) / weight(client) })
}

// least returns the n clients with the least values, from the least on.
func least(clients []int32, n int, value func(client int32) float64) []int32 {
	type entry struct {
		value  float64
		client int32
	}
	compare := func(a, b entry) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.client, b.client)) }
	top := make([]entry, 0, min(n, len(clients))+1)
	for _, client := range clients {
		x := entry{value(client), client}
		if n == 0 || len(top) == n && compare(x, top[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, x, compare)
		if top = slices.Insert(top, at, x); len(top) > n {
			top = top[:n]
		}
	}
	out := make([]int32, len(top))
	for i, x := range top {
		out[i] = x.client
	}
	return out
}

// learn takes in what a round has shown of its clients.
func (c *chooser) learn(slots []Slot, lost []clock.Job) {
	if c == nil {
		return
	}
	round := float32(c.trial.round + 1)
	for i := range slots {
		if c.last != nil {
			c.last[slots[i].Client] = round
		}
	}
	for i := range lost {
		if c.last != nil {
			c.last[lost[i].Client] = round
		}
	}
	switch c.Kind {
	case fleet.Oort:
		c.learnUtilities(slots, lost)
	case fleet.Tiers:
		c.learnTier(slots)
	}
}
