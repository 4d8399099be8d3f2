package repro

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestArmGains pairs the arms of equal hyperparameters within a seed, over the
// last rounds that both have run.
func TestArmGains(t *testing.T) {
	scores := func(xs ...float64) []*float64 {
		var out []*float64
		for _, x := range xs {
			if math.IsNaN(x) {
				out = append(out, nil)
			} else {
				out = append(out, &x)
			}
		}
		return out
	}
	arm := func(number int, lr float64, more string, xs ...float64) TrialLine {
		p := tuners.Params{"client.lr": tuners.Num(lr)}
		if more != "" {
			p[more] = tuners.Num(0.5)
		}
		return TrialLine{Number: number, Params: p, Personalized: scores(xs...), Global: scores(slices.Repeat([]float64{0.9}, len(xs))...)}
	}
	row := func(target string, seed int, arms ...TrialLine) *Row {
		return &Row{Cell: Cell{Target: target}, metrics: []*Metrics{{Head: Head{Seed: seed}, Trials: arms}}, Values: make([]float64, seed), Reached: make([]bool, seed)}
	}
	old := row(tuners.TargetPersonalized, 2,
		arm(0, 0.1, "", 0.9, 0.9, 0.8, 0.8, 0.8, 0.8, 0.8), // the last five of both, rounds 2 to 6
		arm(1, 0.2, "", 0.5, 0.5),
		arm(2, 0.3, "", 0.5, math.NaN()),
		arm(3, 0.4, "", 0.5),
		arm(4, 0.5, ""))
	fresh := row(tuners.TargetPersonalized, 2,
		arm(0, 0.1, "fedex.gamma", 0.1, 0.4, 0.7, 0.7, 0.7, 0.7),
		arm(1, 0.2, "fedex.gamma", 0.6, 0.6, 0.1),
		arm(2, 0.3, "fedex.gamma", 0.5, 0.5), // not finite there
		arm(3, 0.41, "fedex.gamma", 0.5),     // another learning rate
		arm(4, 0.5, "fedex.gamma", 0.5))      // nothing to compare with
	armGains := func(fresh, old *Row) []float64 {
		var gains []float64
		for _, p := range armPairs(fresh, old) {
			gains = append(gains, p.gain)
		}
		return gains
	}
	got := armGains(fresh, old)
	want := []float64{100 * (0.9 + 4*0.8 - 0.4 - 4*0.7) / 5, -10}
	if len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-9 || math.Abs(got[1]-want[1]) > 1e-9 {
		t.Errorf("gains %v, want %v", got, want)
	}
	if got := armGains(row(tuners.TargetPersonalized, 1, fresh.metrics[0].Trials...), old); len(got) != 0 {
		t.Errorf("arms of two seeds were paired: %v", got)
	}
	global := row(tuners.TargetGlobal, 2, fresh.metrics[0].Trials...)
	if got := armGains(global, row(tuners.TargetGlobal, 2, old.metrics[0].Trials...)); len(got) != 3 || math.Abs(got[0])+math.Abs(got[1])+math.Abs(got[2]) > 1e-9 {
		t.Errorf("gains of the global models %v", got)
	}
	if got := armGains(old, fresh); len(got) != 0 {
		t.Errorf("arms without a hyperparameter were paired with arms that have it: %v", got)
	}
	r := &Report{Verdicts: []Verdict{verdictOf(Comparison{Name: "x", Claim: "y"}, fresh, old)}}
	// One seed: there is no interval. The first pair ends at 0.8 and 0.64, the
	// second at 0.5 and 0.6.
	if table := r.armTable(); len(table.Rows) != 1 || strings.Join(table.Rows[0], "|") != "x|y|4.00|2|1|-10.00 .. 18.00|4.00|2|full scale" {
		t.Errorf("table %v", table.Rows)
	}
}

// TestLearntArms counts a pair when one of both ends below 80 % error.
func TestLearntArms(t *testing.T) {
	for _, c := range []struct {
		fresh, old float64
		want       bool
	}{{0.79, 0.95, true}, {0.95, 0.79, true}, {0.81, 0.81, false}} {
		p, ok := pairOf([]*float64{&c.fresh}, []*float64{&c.old})
		if !ok || p.learnt != c.want {
			t.Errorf("%+v: %+v, %v", c, p, ok)
		}
	}
}
