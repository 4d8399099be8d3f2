package deal

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
)

// cappedTries is how often capped deals anew.
const cappedTries = 1000

// capped deals class after class: its samples, in random order, go to the
// clients by a draw of the Dirichlet distribution of concentration Alpha, without those
// that have their even share of all samples already. It deals anew until each client has
// MinSamples. (Yurochkin et al. 2019; PFLlib's partition "dir")
func (d *Dealer) capped() ([][]int32, error) {
	if d.Clients*d.MinSamples > len(d.Labels) {
		return nil, fmt.Errorf("data.clients = %d, data.min_samples = %d: only %d samples to deal", d.Clients, d.MinSamples, len(d.Labels))
	}
	alpha, shares := slices.Repeat([]float64{d.Alpha}, d.Clients), make([]float64, d.Clients)
	for try := range uint64(cappedTries) {
		key := draw.Key(d.Key, try)
		dealt := make([][]int32, d.Clients)
		for c, samples := range byClass(d.Labels, d.Classes, key) {
			draw.New(key, purposeMix, uint64(c)).Dirichlet(shares, alpha)
			sum := 0.0
			for i := range shares {
				if len(dealt[i])*d.Clients >= len(d.Labels) {
					shares[i] = 0
				}
				sum += shares[i]
			}
			if sum == 0 {
				break // all shares but those of full clients are below the smallest number
			}
			from, upTo := 0, 0.0
			for i, share := range shares {
				upTo += share / sum
				to := min(int(upTo*float64(len(samples))), len(samples))
				if i == len(shares)-1 {
					to = len(samples)
				}
				dealt[i] = append(dealt[i], samples[from:to]...)
				from = to
			}
		}
		if slices.IndexFunc(dealt, func(samples []int32) bool { return len(samples) < d.MinSamples }) < 0 {
			mixed(dealt, key)
			return dealt, nil
		}
	}
	return nil, fmt.Errorf("data.partition = %q: in each of %d draws a client has fewer than data.min_samples = %d samples; lower it, or raise data.alpha", d.Way, cappedTries, d.MinSamples)
}

// blocked deals class after class to the first clients that hold fewer than ClientClasses
// classes, to ceil(clients ClientClasses / classes) of them: all but the last get a
// uniform number of samples between a tenth of the even share and that share, the last
// gets the others. (PFLlib's partition "pat")
func (d *Dealer) blocked() ([][]int32, error) {
	if d.ClientClasses > d.Classes {
		return nil, fmt.Errorf("data.client_classes = %d: %s has %d classes", d.ClientClasses, d.Name, d.Classes)
	}
	dealt, held := make([][]int32, d.Clients), make([]int, d.Clients)
	for c, samples := range byClass(d.Labels, d.Classes, d.Key) {
		var holders []int
		for i := range held {
			if held[i] < d.ClientClasses && len(holders)*d.Classes < d.Clients*d.ClientClasses {
				holders = append(holders, i)
			}
		}
		if len(holders) == 0 {
			continue // left out
		}
		most := len(samples) / len(holders)
		least := max(1, most/10)
		if most <= least && len(holders) > 1 {
			return nil, fmt.Errorf("data.clients = %d: class %d has %d samples, too few for %d clients", d.Clients, c, len(samples), len(holders))
		}
		sizes := draw.New(d.Key, purposeSize, uint64(c))
		for j, i := range holders {
			n := len(samples)
			if j < len(holders)-1 {
				n = least + sizes.IntN(most-least)
			}
			dealt[i], samples = append(dealt[i], samples[:n]...), samples[n:]
			held[i]++
		}
	}
	if i := slices.IndexFunc(dealt, func(samples []int32) bool { return len(samples) < max(1, d.MinSamples) }); i >= 0 {
		return nil, fmt.Errorf("data.partition = %q: client %d gets %d samples, fewer than data.min_samples = %d; ask for fewer clients or lower it", d.Way, i, len(dealt[i]), d.MinSamples)
	}
	mixed(dealt, d.Key)
	return dealt, nil
}
