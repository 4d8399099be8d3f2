package fl

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// leastUtility keeps clients without any utility from being drawn never.
const leastUtility = 1e-4

// oort chooses clients by how much and how fast they are likely to help (Lai et al. 2021,
// arXiv 2010.06081): most of them among those of the highest utilities, the others among
// those that have not begun before, in proportion to their devices' speeds.
func (c *chooser) oort(p clock.Choice, key uint64) []int32 {
	var known, fresh []int32
	for _, client := range p.Clients {
		if c.last[client] > 0 {
			known = append(known, client)
		} else {
			fresh = append(fresh, client)
		}
	}
	share := max(float64(c.Exploration*det.Exp(float64(c.trial.round)*det.Log(c.ExplorationDecay))), c.ExplorationMin)
	explored := int(float64(share*float64(p.Number)) + kernels.NewStream(key, 1).Float64())
	explored = min(max(explored, p.Number-len(known)), len(fresh))
	chosen := c.exploit(known, min(p.Number-explored, len(known)), key)
	return append(chosen, weighted(fresh, explored, key, func(client int32) float64 { return c.trial.engine.device(int(client)).FLOPS })...)
}

// exploit draws n clients by their utilities among those that come close to the n-th.
func (c *chooser) exploit(known []int32, n int, key uint64) []int32 {
	if n <= 0 {
		return nil
	}
	utilities := c.utilities(known)
	of := func(client int32) float64 {
		i, _ := slices.BinarySearch(known, client)
		return utilities[i]
	}
	sorted := slices.Clone(utilities)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	cut := float64(c.Cutoff * sorted[n-1])
	close := slices.DeleteFunc(slices.Clone(known), func(client int32) bool { return of(client) < cut })
	return weighted(close, n, key, of)
}

// utilities returns the clients' utilities: the statistical ones, clipped at a quantile and
// scaled to [0, 1] as in the authors' code, with a bonus for those that have waited long and
// less for those that take longer than T.
func (c *chooser) utilities(known []int32) []float64 {
	var stats, seconds []float64
	for _, client := range known {
		stats = append(stats, float64(c.utility[client]))
	}
	for client, last := range c.last {
		if last > 0 {
			seconds = append(seconds, float64(c.seconds[client]))
		}
	}
	lowest, clip, preferred := slices.Min(stats), quantile(stats, c.Clip), quantile(seconds, float64(c.pacer[0]))
	width := max(clip-lowest, leastUtility)
	waited := 0.1 * det.Log(float64(c.trial.round+1))
	all := make([]float64, len(known))
	for i, client := range known {
		u := (min(stats[i], clip)-lowest)/width + math.Sqrt(waited/float64(c.last[client]))
		if t := float64(c.seconds[client]); t > preferred && preferred > 0 {
			u = float64(u * det.Exp(-float64(c.Penalty*det.Log(t/preferred))))
		}
		all[i] = max(u, leastUtility)
	}
	return all
}

// quantile returns the value below which a share of the values are.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[min(int(float64(share*float64(len(sorted)))), len(sorted)-1)]
}

// learnUtilities keeps the utilities of a round's clients: the number of samples times the
// root of the mean squared loss, of batches. One whose work was lost keeps its own, or has
// its number of samples. Where the utilities of the last rounds are less than those of as
// many rounds before, the pacer lets clients take longer.
func (c *chooser) learnUtilities(slots []Slot, lost []clock.Job) {
	sum := 0.0
	for i := range slots {
		s := &slots[i]
		u := float64(s.TrainExamples) * math.Sqrt(s.squaredLoss)
		if s.Dropped || !det.Finite(u) {
			u = 0
		}
		c.utility[s.Client], c.seconds[s.Client] = float32(min(u, math.MaxFloat32)), float32(s.Seconds)
		sum += u / float64(len(slots))
	}
	for i := range lost {
		j := &lost[i]
		if c.utility[j.Client] == 0 {
			c.utility[j.Client] = float32(c.trial.engine.cfg.Data.Clients[j.Client].Train.Len())
		}
		c.seconds[j.Client] = max(c.seconds[j.Client], float32(nanos.Seconds(j.End-j.Start)))
	}
	c.pacer[1] += float32(sum)
	if c.pacer[3]++; int(c.pacer[3])%c.PaceRounds != 0 {
		return
	}
	if int(c.pacer[3]) > c.PaceRounds && c.pacer[1] < c.pacer[2] {
		c.pacer[0] = min(c.pacer[0]+float32(c.PaceStep), 1)
	}
	c.pacer[1], c.pacer[2] = 0, c.pacer[1]
}
