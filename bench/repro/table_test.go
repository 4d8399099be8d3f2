package repro

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// side is a trial on a proxy federation.
func side(hi float64, samples int, score, lr float64) result.ProxyTrial {
	return result.ProxyTrial{
		Environment: tuners.Environment{HI: hi, Samples: samples}, Score: &score,
		Params: tuners.Params{"client.lr": tuners.Num(lr), "client.batch": tuners.Num(8), "client.epochs": tuners.Num(5)},
	}
}

// TestOneTable: the first seed makes a table, the others look it up, under the
// same name of the settings.
func TestOneTable(t *testing.T) {
	here(t)
	training := &Training{
		Key: "small-table", Mode: config.ModeTune, Preset: "fmnist-fedtune", Needs: "glyphs", OneTable: true,
		Shrink: shrinkFedtune,
		Sets: []string{
			"data.name=glyphs", "data.partition=", "data.sizes=[]", "data.hi=[]", "data.split=80/10/10", "data.clients=6",
			"data.samples=100", "data.proxy=300", "data.proxy_test=50", "model=logistic", "cohort=3", "eval.every=2",
			"budget.rounds=8", "budget.trial_rounds=8", "rounds=8", `tuner.options.hi="0.2, 0.8"`,
			`tuner.options.samples="20, 40"`, "tuner.options.rounds=3", "tuner.options.init=2", "tuner.options.proposals=1",
		},
	}
	cells := []Cell{
		{Name: "fedtune-table1/fmnist/table", Training: training, Measure: bestAccuracy},
		{Name: "sides", Training: training, Measure: sideTrials},
	}
	jobs, _, err := Plan(t.Context(), cells, Options{Seeds: 2}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jobs[1].Run(t.Context(), workdir.Options{}); err == nil || !strings.Contains(err.Error(),
		"needs the table of seed 1, which has not finished") {
		t.Errorf("without a table: %v", err)
	}
	all := runAll(t, jobs)
	if len(all[0].Sides) != 12 || all[0].Sides[0].Rounds != 3 || len(all[1].Sides) != 0 ||
		all[0].Head.Digest != all[1].Head.Digest {
		t.Errorf("%d and %d side trials, settings %s and %s", len(all[0].Sides), len(all[1].Sides), all[0].Head.Digest,
			all[1].Head.Digest)
	}
	if !strings.Contains(all[1].Head.Config, `"table" = "0.2 20 `) || strings.Contains(all[0].Head.Config, `"table"`) {
		t.Errorf("the second seed's study is\n%s", all[1].Head.Config)
	}
	const handed = "0.2 20 0.1 8 5; 0.2 40 0.1 8 5; 0.8 20 0.1 8 5; 0.8 40 0.1 8 5"
	given, _, err := Plan(t.Context(), cells, Options{Seeds: 2, Sets: []string{`tuner.options.table="` + handed + `"`}},
		t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range runAll(t, given) {
		if len(m.Sides) > 0 || !strings.Contains(m.Head.Config, `"table" = "`+handed) {
			t.Errorf("seed %d with a table that was handed to it: %d side trials", m.Head.Seed, len(m.Sides))
		}
	}
	m := &Metrics{Sides: []result.ProxyTrial{
		side(0.8, 100, 0.5, 0.1), side(0.2, 50, 0.4, 0.2), side(0.2, 50, 0.3, 0.3), side(0.2, 100, 0.6, 0.4),
	}}
	table := m.sideTable()
	want := [][]string{{"50", "0.300, lr 0.3, batch 8, 5 epochs", "-"}, {
		"100", "0.600, lr 0.4, batch 8, 5 epochs",
		"0.500, lr 0.1, batch 8, 5 epochs",
	}}
	if !slices.Equal(table.Head, []string{"samples", "HI 0.2", "HI 0.8"}) || !slices.EqualFunc(table.Rows, want,
		slices.Equal) {
		t.Errorf("%q %q", table.Head, table.Rows)
	}
	report, err := NewReport(cells, all)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy, sides := report.Rows[0], report.Rows[1]; accuracy.Sample.N != 2 || !(accuracy.Sample.Mean > 0) ||
		sides.Sample.N != 1 || sides.Sample.Mean != 12 {
		t.Errorf("%+v\n%+v", accuracy, sides)
	}
}

// TestVerdictsFollowOneRule says yes or no of nothing that random signs of so few pairs could
// give as well, whatever its interval, in both tables that have verdicts.
func TestVerdictsFollowOneRule(t *testing.T) {
	for _, c := range []struct {
		gains         []float64
		beyond, holds string
	}{
		{[]float64{3}, "cannot be said from one seed", "cannot be said from one seed (it speaks for it)"},
		{
			[]float64{3, 3},
			"not shown with 2 seeds",
			"in the mean, not beyond chance with 2 seeds",
		},
		{
			[]float64{150, 150, 151},
			"not shown with 3 seeds",
			"in the mean, not beyond chance with 3 seeds",
		},
		{
			[]float64{-30, -29, -31},
			"not shown with 3 seeds",
			"not in the mean, but not beyond chance with 3 seeds",
		},
		{[]float64{3, -2, 1}, "not shown", "in the mean, not beyond chance"},
		{[]float64{0, 0, 0, 0, 0}, "not shown", "not in the mean, but not beyond chance"},
		{[]float64{3, 4, 3, 4, 3}, "yes", "yes"},
		{[]float64{-3, -4, -3, -4, -3}, "no, the opposite", "no, the opposite"},
		{[]float64{3, -4, 3, -4, 3}, "not shown", "in the mean, not beyond chance"},
	} {
		s := stats.Of(c.gains)
		if got, holds := beyond(s), (&Verdict{Gain: s}).Holds(); got != c.beyond || holds != c.holds {
			t.Errorf("%v: %q, %q", c.gains, got, holds)
		}
		if p := stats.SignFlips(c.gains); (c.beyond == "yes" || c.beyond == "no, the opposite") != (p < 1-stats.Confidence) {
			t.Errorf("%v: %q, and p is %v by signs", c.gains, c.beyond, p)
		}
	}
	for want, gains := range map[string][]float64{
		"0.00 (all 2 alike)": {0, 0}, "-365.0 (all 3 alike)": {-365, -365, -365},
		"2.00": {2}, "2.00 +- 6.31": {1, 3},
	} {
		if got := withInterval(stats.Of(gains)); got != want {
			t.Errorf("%v is written %q, want %q", gains, got, want)
		}
	}
}

// TestRatiosAreSaid is for claims of the form "N times fewer".
func TestRatiosAreSaid(t *testing.T) {
	row := func(values ...float64) *Row { return &Row{Values: values, Reached: []bool{true, true}} }
	v := verdictOf(Comparison{Ratio: true}, row(100, 200), row(110, 240))
	if want := "25.00 +- 94.71 (1.10 to 1.20 times)"; v.gain() != want {
		t.Errorf("%q, want %q", v.gain(), want)
	}
}
