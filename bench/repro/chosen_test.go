package repro

import (
	"math"
	"reflect"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestChosen ranks what theta chooses among an arm's configurations, of pairs of which
// one has learnt, and lists it.
func TestChosen(t *testing.T) {
	arm := func(seed int, test float64, theta ...float64) *Metrics {
		test /= 100
		return &Metrics{
			Head: Head{Seed: seed},
			Trials: []TrialLine{{
				Params: tuners.Params{"client.lr": tuners.Num(0.1)}, Global: []*float64{&test},
				ConfigParams: []string{"client.batch", "client.lr"}, Configs: [][]float64{{8, 0.3}, {8, 0.1}, {16, 0.2}}, Theta: theta,
			}},
			End: End{Survivor: &Returned{GlobalTest: &test}, Best: &Returned{GlobalTest: &test}},
		}
	}
	row := func(ms ...*Metrics) *Row {
		return &Row{Cell: Cell{Target: tuners.TargetGlobal}, metrics: ms, Values: make([]float64, len(ms))}
	}
	old := row(arm(1, 50), arm(2, 50), arm(3, 90), arm(4, 50))
	// The second arm is undecided between both ends, the third learns nothing on either
	// side, of the fourth nothing is known.
	p := pairsOf("x", row(arm(1, 40, 0, 0.9999, 0), arm(2, 90, 0.5, 0, 0.5), arm(3, 90, 1, 0, 0), arm(4, 40)), old)
	if len(p.Chosen) != 2 || p.Chosen[0].Param != "client.batch" || p.Chosen[1].Param != "client.lr" {
		t.Fatalf("%+v", p.Chosen)
	}
	for i, want := range []float64{(0.25 + (0.25+1)/2) / 2, (0 + (1+0.5)/2) / 2} {
		if got := p.Chosen[i].Rank; got.N != 2 || math.Abs(got.Mean-want) > 1e-9 {
			t.Errorf("%s: %+v, want a mean of %v", p.Chosen[i].Param, got, want)
		}
	}
	none := pairsOf("y", old, old)
	again := p // the arms beside others
	again.Name = "fedex-ablation/cifar10/eps/0.5/beside-own/global"
	table := (&Report{Verdicts: []Verdict{{Pairs: none}, {Pairs: p}, {Pairs: again}}}).chosenTable()
	if want := []string{"experiment", "arms", "client.batch", "client.lr", "variant"}; !reflect.DeepEqual(table.Head, want) || len(table.Rows) != 1 || table.Rows[0][0] != "x" || table.Rows[0][1] != "2" || table.Rows[0][2] != "0.44 +- 1.18" {
		t.Errorf("%+v", table)
	}
}
