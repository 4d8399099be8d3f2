package fl

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

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
		flops, down, up, err := e.jobWork(i, params, &e.cfg.Updates)
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
