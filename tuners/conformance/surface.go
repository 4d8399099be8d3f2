package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	// Lowest is the lowest score that the surface has at a round.
	Lowest(round int) float64
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
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a].Score, all[b].Score) })
	for _, i := range order[:min(search.Votes, len(order))] {
		all[i].Votes = localClients
	}
	for i := range all {
		all[i].Score = math.NaN()
	}
	return all
}

// analytic is a Surface with a formula on the unit cube of its space.
type analytic struct {
	space  tuners.Space
	height func(at []float64) float64 // of the final error above its lowest, 0..1, for a point of the unit cube
	speed  func(at []float64) float64 // rounds in which the error of the start falls to 1/e; at its smallest 1
}

// clientSpace is a space that every tuner can work on, with few enough points for a
// grid.
var clientSpace = tuners.Space{
	{Name: "client.epochs", Kind: tuners.Int, Lo: 1, Hi: 3},
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "client.momentum", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(0), tuners.Num(0.9)}},
}

// learningRates is a plane of two learning rates.
var learningRates = tuners.Space{
	{Name: "client.lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
	{Name: "server.lr", Kind: tuners.Log10, Lo: -1, Hi: 1},
}

// surfaces are the analytic surfaces by name.
var surfaces = map[string]analytic{
	// Quadratic bowl over client.epochs, client.lr and client.momentum, with its minimum at 0.4 of each range.
	"bowl": {
		space:  clientSpace,
		height: bowl,
		speed:  func([]float64) float64 { return 10 },
	},
	// Branin function over client.lr and server.lr, with three minima.
	"branin": {
		space: learningRates,
		height: func(at []float64) float64 {
			x, y := 15*at[0]-5, 15*at[1]
			b := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
			return (b*b + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10 - 0.397887) / 310
		},
		speed: func([]float64) float64 { return 10 },
	},
	// Rosenbrock function over client.lr and server.lr.
	"valley": {
		space: learningRates,
		height: func(at []float64) float64 {
			x, y := 4*at[0]-2, 4*at[1]-1
			return math.Log1p(100*(y-x*x)*(y-x*x)+(1-x)*(1-x)) / math.Log1p(2509)
		},
		speed: func([]float64) float64 { return 10 },
	},
	// Like bowl, but better points learn more slowly, so early rounds mislead.
	"crossing": {
		space:  clientSpace,
		height: bowl,
		speed:  func(at []float64) float64 { return 3 + 6*math.Max(0, 1-2*math.Abs(at[1]-0.4)) },
	},
}

// bowl is the mean square of the distances from 0.4.
func bowl(at []float64) float64 {
	sum := 0.0
	for _, x := range at {
		sum += (x - 0.4) * (x - 0.4)
	}
	return sum / float64(len(at))
}

// Surfaces returns the names of the analytic surfaces, in order.
func Surfaces() []string { return slices.Sorted(maps.Keys(surfaces)) }

// SurfaceByName returns an analytic surface.
func SurfaceByName(name string) (Surface, error) {
	s, ok := surfaces[name]
	if !ok {
		return nil, fmt.Errorf("unknown surface %q; available: %s", name, strings.Join(Surfaces(), ", "))
	}
	return s, nil
}

// Space returns the space of the surface.
func (s analytic) Space() tuners.Space { return s.space }

// Score falls exponentially from 0.9 to 0.05 + 0.8 h where h is the height of the
// point.
func (s analytic) Score(p tuners.Params, round int) float64 {
	at := s.space.Unit(p)
	end := 0.05 + 0.8*math.Min(1, s.height(at))
	return end + (0.9-end)*math.Exp(-float64(round)/s.speed(at))
}

// Lowest searches a grid of the space.
func (s analytic) Lowest(round int) float64 {
	low := math.Inf(1)
	at := make([]float64, len(s.space))
	var walk func(i int)
	walk = func(i int) {
		if i == len(at) {
			end := 0.05 + 0.8*math.Min(1, s.height(at))
			low = math.Min(low, end+(0.9-end)*math.Exp(-float64(round)/s.speed(at)))
			return
		}
		steps := 100
		switch d := s.space[i]; d.Kind {
		case tuners.Choice:
			steps = len(d.Choices) - 1
		case tuners.Int, tuners.Log2:
			steps = int(d.Hi - d.Lo)
		default:
		}
		for k := range steps + 1 {
			at[i] = float64(k) / math.Max(1, float64(steps))
			walk(i + 1)
		}
	}
	walk(0)
	return low
}
