package repro

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// TestOnline follows two rungs by hand: all trials first, then those that went on.
func TestOnline(t *testing.T) {
	list := func(xs ...float64) []*float64 {
		var out []*float64
		for _, x := range xs {
			out = append(out, &x)
		}
		return out
	}
	m := &Metrics{Trials: []TrialLine{
		{Number: 0, Rungs: []result.Rung{{Round: 2}}, Personalized: list(0.9, 0.8), Global: list(0.9, 0.9)},
		{
			Number: 1, Rungs: []result.Rung{{Round: 2}, {Round: 4}}, Personalized: list(0.85, 0.7, 0.75, 0.5),
			Global: list(0.99, 0.98, 0.97, 0.96),
			Test:   []result.CurvePoint{{Round: 2, TestError: 0.6}, {Round: 4, TestError: 0.55}},
		},
		{Number: 2, Rungs: []result.Rung{{Round: 2}}, Personalized: list(0.6, 0.65), Global: list(0.95, 0.94)},
	}}
	m.Head.Config = "[tuner]\nname = \"sha\"\n"
	got := m.Online(tuners.TargetPersonalized)
	want := []Step{{1, 90, math.NaN()}, {2, 80, math.NaN()}, {4, 70, 60}, {5, 60, math.NaN()}, {8, 50, 55}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, w := range want {
		if g := got[i]; g.Rounds != w.Rounds || math.Abs(g.Value-w.Value) > 1e-9 ||
			math.IsNaN(g.Test) != math.IsNaN(w.Test) || !math.IsNaN(w.Test) && math.Abs(g.Test-w.Test) > 1e-9 {
			t.Errorf("point %d: %v, want %v", i, g, w)
		}
	}
	if got := m.Online(tuners.TargetGlobal); len(got) != 2 || got[0].Rounds != 1 || got[1].Rounds != 8 ||
		got[1].Value != 90 {
		t.Errorf("global: %v", got)
	}
	m.Head.Config = "[score]\ndiscount = 0.5\n"
	got = m.Online(tuners.TargetPersonalized) // trial 2: 0.6, (0.65 + 0.6 / 2) / 1.5; trial 1 goes on: 0.75, (0.5 + 0.75 / 2) / 1.5
	if len(got) != 5 || math.Abs(got[3].Value-60) > 1e-9 || math.Abs(got[4].Value-100*0.875/1.5) > 1e-9 {
		t.Errorf("discounted: %v", got)
	}
}
