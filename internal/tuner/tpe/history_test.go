package tpe

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/guided"
	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// history is a list of trials with scores, and what Optuna 4.1.0's
// TPESampler(multivariate=True) finds in it: which of them are good, and log l - log g
// at some points.
type history struct {
	name   string
	space  tuners.Space
	trials []guided.Trial
	good   []int
	gains  []gain
}

type gain struct {
	at   points.Point
	want float64
	liar float64 // with the trials of history.flying; 0 where it is not known
}

// micro rounds to six decimals, as the values of the histories are.
func micro(x float64) float64 { return math.Round(x*1e6) / 1e6 }

func histories() []history {
	log := math.Log10
	a := history{name: "A", space: tuners.Space{{Name: "lr", Kind: tuners.Log10, Lo: -4, Hi: 0}}, good: []int{5}}
	for i, v := range []float64{.90, .80, .60, .35, .20, .15, .25, .70, .95} {
		a.trials = append(a.trials, guided.Trial{
			Point:   points.Point{-4 + float64(i)/2},
			Outcome: record.Outcome{Reported: true, Score: v},
		})
	}
	for _, g := range [][2]float64{
		{1e-4, -.632452}, {1e-3, -.218961}, {.01, .397051}, {.02, .553938}, {.05, .504105}, {.1, .272175}, {1, -.263141},
	} {
		a.gains = append(a.gains, gain{at: points.Point{log(g[0])}, want: g[1]})
	}

	b := history{name: "B", good: []int{2, 9, 16}, space: tuners.Space{
		{Name: "epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
		{Name: "lr", Kind: tuners.Log10, Lo: -4, Hi: 0},
		{Name: "mom", Kind: tuners.Uniform, Lo: 0, Hi: .9},
	}}
	for i := range 24 {
		l, mom, epochs := -4+4*float64(7*i%24)/23, .9*float64(5*i%24)/23, float64(1+3*i%5)
		v := micro((l+1.5)*(l+1.5)/8 + .3*(mom-.5)*(mom-.5) + .02*(epochs-3)*(epochs-3))
		b.trials = append(b.trials, guided.Trial{Point: points.Point{epochs, l, mom}, Outcome: record.Outcome{
			Reported: true,
			Score:    v,
		}})
	}
	for _, g := range [][5]float64{
		{1e-3, .5, 3, -.162689, -.094759},
		{.01, .5, 3, .906374, -.011315},
		{.03, .45, 3, 1.631970, .068320},
		{.03, .45, 5, 1.304452, 1.333199},
		{.1, .2, 2, .612546, .681151},
		{.1, .8, 1, 2.443389, 2.555657},
		{.5, .9, 5, -.297281, -.181175},
	} {
		b.gains = append(b.gains, gain{at: points.Point{g[2], log(g[0]), g[1]}, want: g[3], liar: g[4]})
	}

	c := history{name: "C", good: []int{10, 18, 21}, space: tuners.Space{
		{Name: "batch", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(32), tuners.Num(64), tuners.Num(128)}},
		{Name: "lr", Kind: tuners.Log10, Lo: -6, Hi: 0},
	}}
	for i := range 30 {
		l := -6 + 6*float64(11*i%30)/29
		v := micro(math.Abs(l+2)/4 + .05*float64(i%3))
		c.trials = append(c.trials, guided.Trial{
			Point:   points.Point{float64(i % 3), l},
			Outcome: record.Outcome{Reported: true, Score: v},
		})
	}
	for batch, row := range [][3]float64{
		{-.244410, 1.740217, .882641}, {-.627463, .873435, .256654}, {-1.002344, -.178305, -.486683},
	} {
		for i, lr := range []float64{1e-4, .01, .1} {
			c.gains = append(c.gains, gain{at: points.Point{float64(batch), log(lr)}, want: row[i]})
		}
	}
	return []history{a, b, c}
}

// compare holds the gains of a pair against those that are wanted, and their ranking.
func compare(t *testing.T, h history, p *pair, want func(gain) float64) {
	t.Helper()
	order := func(value func(gain) float64) []int {
		var at []int
		for i := range h.gains {
			at = append(at, i)
		}
		slices.SortFunc(at, func(i, j int) int { return int(math.Copysign(1, value(h.gains[j])-value(h.gains[i]))) })
		return at
	}
	for _, g := range h.gains {
		if got := p.gain(g.at); math.Abs(got-want(g)) > 1e-5 {
			t.Errorf("%s: log l - log g at %v is %.6f, Optuna says %.6f", h.name, g.at, got, want(g))
		}
	}
	if got, want := order(func(g gain) float64 { return p.gain(g.at) }), order(want); !slices.Equal(got, want) {
		t.Errorf("%s: ranked %v, Optuna ranks %v", h.name, got, want)
	}
}

func TestGainsOfOptuna(t *testing.T) {
	for _, h := range histories() {
		good := split(tuners.Aims{Objectives: make([]tuners.Objective, 1)}, h.trials)
		for i, is := range good {
			if is != slices.Contains(h.good, i) {
				t.Errorf("%s: trial %d is good: %t", h.name, i, is)
			}
		}
		req := tuners.OpenRequest{Space: h.space}
		compare(t, h, newPair(req, h.trials), func(g gain) float64 { return g.want })
		if h.name != "B" {
			continue
		}
		lr := math.Log10(.03)
		flying := slices.Clone(h.trials)
		for _, mom := range []float64{.45, .5} {
			flying = append(flying, guided.Trial{Point: points.Point{3, lr, mom}})
		}
		compare(t, h, newPair(req, flying), func(g gain) float64 { return g.liar })
	}
}
