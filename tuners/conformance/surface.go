package conformance

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// Surface is what stands in for federated training: a score, an error from 0 to 1,
// for every point and round.
type Surface interface {
	// Space is where the surface is defined. It is asked about points of larger
	// spaces, too, and does not look at their other names.
	Space() tuners.Space
	// Score is the validation error of a trial with these params after a number of
	// rounds, at least 1.
	Score(p tuners.Params, round int) float64
}

// localClients train by themselves in a study on a surface.
const localClients = 4

// local makes up what clients come to that train by themselves: what the surface has after a
// round, each with an offset of its own, which changes no order.
func local(s Surface, points []tuners.Params, search *tuners.LocalSearch) []tuners.Measured {
	all := make([]tuners.Measured, len(points))
	for i, p := range points {
		all[i].Score = s.Score(p, 1)
	}
	if search.Votes == 0 {
		for i := range all {
			for client := range localClients {
				all[i].Clients = append(all[i].Clients, all[i].Score+float64(0.01*float64(client)))
			}
		}
		return all
	}
	order := list.Made(len(all), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].Score, all[b].Score) })
	for _, i := range order[:min(search.Votes, len(order))] {
		all[i].Votes = localClients
	}
	for i := range all {
		all[i].Score = math.NaN()
	}
	return all
}

// bowl is the surface of the checks, on a space that every tuner can work on, with few enough
// points for a grid.
type bowl struct{}

// Bowl returns a quadratic bowl over client.epochs, client.lr and client.momentum with its minimum
// at 0.4 of each range.
func Bowl() Surface { return bowl{} }

// Space returns the space of the surface.
func (bowl) Space() tuners.Space {
	return tuners.Space{
		{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 3},
		{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
		{Name: "client.momentum", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(0), tuners.Num(0.9)}},
	}
}

// Score falls exponentially from 0.9, to 1/e of what is above its end in 10 rounds. It ends at
// 0.05 + 0.8 h where h is the mean square of the point's distances from the minimum.
func (b bowl) Score(p tuners.Params, round int) float64 {
	sum, at := 0.0, b.Space().Unit(p)
	for _, x := range at {
		sum += (x - 0.4) * (x - 0.4)
	}
	end := 0.05 + 0.8*math.Min(1, sum/float64(len(at)))
	return end + (0.9-end)*math.Exp(-float64(round)/10)
}
