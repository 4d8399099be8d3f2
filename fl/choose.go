package fl

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
	case c.Replacement || c.Poisson:
		problem = "its clients are neither drawn with replacement nor by Poisson sampling; leave Replacement and Poisson out"
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

// power returns the clients with the highest losses among candidates (Cho et al. 2020).
func (c *chooser) power(ctx context.Context, p clock.Choice, key uint64, ask func([]int32) []int32) ([]int32, error) {
	clients := c.trial.engine.cfg.Data.Clients
	d := c.Candidates
	if d == 0 {
		d = 2 * p.Number
	}
	candidates := ask(weighted(p.Clients, d, key, func(client int32) float64 { return float64(clients[client].Train.Len()) }))
	losses, err := c.trial.losses(ctx, candidates)
	if err != nil {
		return nil, err
	}
	return least(candidates, p.Number, func(client int32) float64 { return -losses[client] }), nil
}

// losses measures the trial's weights on the training samples of clients. One that has no
// finite loss has none.
func (t *Trial) losses(ctx context.Context, clients []int32) (map[int32]float64, error) {
	e := t.engine
	all := make([]float64, len(clients))
	err := e.each(ctx, len(clients), func(i int, w *worker) error {
		r, err := w.evaluate(t.weights, e.cfg.Data.Clients[clients[i]].Train, nil, nil)
		if err == nil {
			all[i] = scoreOf(r).Loss
		}
		return err
	})
	of := make(map[int32]float64, len(all))
	for i, client := range clients {
		if of[client] = all[i]; !det.Finite(all[i]) {
			of[client] = -math.MaxFloat64
		}
	}
	return of, err
}

// candidateWork returns what a candidate's evaluation takes: the weights that it receives,
// operations, and the loss that it sends.
func (e *Engine) candidateWork(_, client, _ int) clock.Load {
	each, _ := e.cfg.Model.FLOPs()
	down, _ := e.bytes(e.cfg.Sent())
	return clock.Load{FLOPs: float64(float64(each) * float64(e.cfg.Data.Clients[client].Train.Len())), Down: down, Up: 4}
}

// tier returns clients of one tier, drawn in proportion to the tiers' losses (TiFL, Chai et
// al. 2020). A tier that has not trained counts as the one with the highest loss.
func (c *chooser) tier(p clock.Choice, key uint64) []int32 {
	of := c.trial.engine.tiers
	there := make([][]int32, len(c.losses))
	for _, client := range p.Clients {
		there[of[client]] = append(there[of[client]], client)
	}
	highest := float64(slices.Max(c.losses))
	if highest <= 0 {
		highest = 1
	}
	most := 0
	for _, clients := range there {
		most = max(most, len(clients))
	}
	tiers := make([]int32, 0, len(there))
	for i, clients := range there {
		if len(clients) >= min(p.Number, most) {
			tiers = append(tiers, int32(i))
		}
	}
	one := func(int32) float64 { return 1 }
	tier := weighted(tiers, 1, kernels.Key(key, math.MaxUint64), func(i int32) float64 {
		if loss := float64(c.losses[i]); loss >= 0 {
			return max(loss, 1e-6*highest)
		}
		return highest
	})
	return weighted(there[tier[0]], p.Number, key, one)
}

// newTiers returns the tiers of the clients, from the fastest.
func (e *Engine) newTiers() []int32 {
	seconds := e.expectedSeconds()
	order := make([]int32, len(seconds))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(seconds[a], seconds[b]), cmp.Compare(a, b)) })
	tiers := make([]int32, len(order))
	for place, client := range order {
		tiers[client] = int32(place * e.cfg.Sampler.Tiers / len(order))
	}
	return tiers
}

// expectedSeconds returns how long the clients' jobs take on the mean, with the method's
// default hyperparameters and without failures.
func (e *Engine) expectedSeconds() []float64 {
	all := make([]float64, len(e.cfg.Data.Clients))
	params, _ := e.cfg.Method.Defaults()
	for i := range all {
		d := e.device(i)
		flops, down, up, err := e.jobWork(i, params)
		if err != nil { // other hyperparameters are needed: by the samples
			flops = e.trainFLOPs * float64(e.cfg.Data.Clients[i].Train.Len())
		}
		all[i] = flops/d.FLOPS + float64(down)/d.Down + float64(up)/d.Up
	}
	return all
}

// device returns the mean speed of a client's device.
func (e *Engine) device(client int) fleet.Device {
	if f, ok := e.fleet.(*fleet.Fleet); ok {
		return f.Device(client)
	}
	return fleet.DefaultDevice()
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

// learnTier keeps the mean loss of a round as its tier's.
func (c *chooser) learnTier(slots []Slot) {
	sum, n := 0.0, 0.0
	for i := range slots {
		if s := &slots[i]; !s.Dropped && det.Finite(s.TrainLoss) {
			sum += float64(s.TrainLoss * float64(s.TrainExamples))
			n += float64(s.TrainExamples)
		}
	}
	if n > 0 {
		c.losses[c.trial.engine.tiers[slots[0].Client]] = float32(sum / n)
	}
}
