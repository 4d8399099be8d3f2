package bohb

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/points"
	"github.com/fedfast/fedfast/tuners"
)

// history is a rung of 30 outcomes in four dimensions.
func history() *model {
	m := newModel(tuners.OpenRequest{Space: tuners.Space{
		{Name: "batch", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(32), tuners.Num(64), tuners.Num(128)}},
		{Name: "epochs", Kind: tuners.Int, Lo: 1, Hi: 5},
		{Name: "lr", Kind: tuners.Log10, Lo: -6, Hi: 0},
		{Name: "mom", Kind: tuners.Uniform, Lo: 0, Hi: .9},
		{Name: "one", Kind: tuners.Uniform, Lo: 2, Hi: 2},
	}})
	m.candidates = 64
	for i := range 30 {
		c, e, l, mom := float64(i%3), float64(1+3*i%5), -6+6*float64(11*i%30)/29, .9*float64(7*i%30)/29
		v := math.Abs(l+2)/4 + .05*c + .3*(mom-.5)*(mom-.5) + .02*(e-3)*(e-3)
		m.Learn(points.Point{c, e, l, mom, 2}, 9, tuners.TrialReport{Trial: i, Round: 9, Score: math.Round(v*1e6) / 1e6})
	}
	return m
}

// TestDensitiesOfStatsmodels compares with the split of HpBandSter's BOHB and the log
// densities of statsmodels 0.13.5's KDEMultivariate with the normal reference.
func TestDensitiesOfStatsmodels(t *testing.T) {
	m := history()
	good, bad := m.split(m.memory.Seen)
	var trials []int
	for _, o := range good {
		trials = append(trials, o.Trial)
	}
	slices.Sort(trials)
	if !slices.Equal(trials, []int{7, 10, 18, 21, 29}) || len(bad) != 25 {
		t.Errorf("good trials %v and %d bad ones", trials, len(bad))
	}
	p := m.newPair(m.memory.Seen)
	for _, c := range []struct {
		at              points.Point
		good, bad, gain float64
	}{
		{points.Point{0, 3, -2, .45, 2}, .363711, -1.377792, 1.741503},
		{points.Point{1, 3, -2, .45, 2}, .378938, -1.439303, 1.818241},
		{points.Point{2, 1, -3, .2, 2}, -3.571965, -2.161615, -1.410350},
		{points.Point{0, 5, -1, .8, 2}, -3.080099, -2.153326, -.926773},
		{points.Point{1, 2, -5, .6, 2}, -48.648327, -1.685951, -46.962376},
		{points.Point{0, 4, -.5, .1, 2}, -15.642559, -2.346621, -13.295938},
	} {
		x := m.unit(c.at)
		for i, got := range []float64{p.good.LogDensity(x), p.bad.LogDensity(x), p.gain(x)} {
			if want := []float64{c.good, c.bad, c.gain}[i]; math.Abs(got-want) > 1e-5 {
				t.Errorf("at %v: number %d is %.6f, want %.6f", c.at, i, got, want)
			}
		}
		if back := m.point(x); !slices.EqualFunc(back, c.at, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%v comes back as %v", c.at, back)
		}
	}
}

func TestProposesNearTheGood(t *testing.T) {
	m := history()
	near := 0
	for trial := range 100 {
		p := m.Propose(100 + trial)
		if err := m.req.Space.Contains(p.Params(m.req.Space)); err != nil {
			t.Fatal(err)
		}
		if math.Abs(p[2]+2) < 1 { // of random points a third
			near++
		}
	}
	if near < 80 {
		t.Errorf("%d of 100 proposals are within a factor of 10 of the best learning rate", near)
	}
}

// TestLearnsFromTheHighestRungWithEnough fills two rungs at once.
func TestLearnsFromTheHighestRungWithEnough(t *testing.T) {
	m := history()
	at := points.Point{0, 3, -2, .45, 2}
	for i := range 10 { // 2 (D + 1)
		m.Learn(at, 3, tuners.TrialReport{Trial: 40 + i, Score: 1}) // below a rung that has enough
		m.Learn(at, 27, tuners.TrialReport{Trial: i, Score: float64(i), Failed: i >= 4})
	}
	if len(m.memory.Seen) != 30+10 { // four scores are too few for five good ones
		t.Errorf("it remembers %d outcomes", len(m.memory.Seen))
	}
	m.Learn(at, 27, tuners.TrialReport{Trial: 10, Score: 9})
	if good, bad := m.split(m.memory.Seen); len(good) != 5 || len(bad) != 6 || good[4].Trial != 10 {
		t.Errorf("good %v, bad %v", good, bad)
	}
	if m.memory.Seen[0].Rung != 27 || len(m.memory.Seen) != 11 {
		t.Errorf("it remembers %v", m.memory.Seen)
	}
	for i := range maxSeen {
		m.Learn(at, 27, tuners.TrialReport{Trial: 11 + i, Score: 9})
	}
	if n := len(m.memory.Seen); n != maxSeen || m.memory.Seen[0].Trial != 11 {
		t.Errorf("it remembers %d outcomes from trial %d", n, m.memory.Seen[0].Trial)
	}
}
