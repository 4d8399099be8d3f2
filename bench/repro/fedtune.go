package repro

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

const fedtunePaper = "FedTune (ICLR 2022 submission)"

// fedtuneSet is a row of FedTune's Table 1.
type fedtuneSet struct {
	Name, Needs string
	Sets        []string
	Accuracy    [3]float64
}

// fedtuneTraining is the training with a table that is looked up, or with one
// global setting.
func fedtuneTraining(set fedtuneSet, tuning string) *Training {
	t := &Training{
		Key: "fedtune-" + set.Name + "-" + tuning, Mode: config.ModeTune, Preset: "fmnist-fedtune", Needs: set.Needs, Seeds: 1,
		Sets: append([]string{"eval.every=5"}, set.Sets...), Shrink: shrinkFedtune, OneTable: true,
		Deviates: []string{"global local epochs (5), the optimizer (plain SGD) and the widths of the network are not in the paper: ours"},
	}
	if tuning == "global" {
		t.Mode, t.OneTable = config.ModeRun, false
		return t
	}
	t.Deviates = append(t.Deviates, "a cell's search ends after 6 proposals at most (the paper names no cap)")
	return t
}

// shrinkFedtune scales rounds and samples: those of the federation and those of the
// table and its proxy federations.
func shrinkFedtune(c *config.Config, scale float64) []string {
	rounds := c.Rounds
	c.Rounds = shrunk(rounds, scale, 1)
	c.Budget = config.Budget{Rounds: c.Rounds, TrialRounds: c.Rounds}
	var was, sizes []string
	for i, n := range c.Data.Sizes {
		was = append(was, strconv.Itoa(n))
		c.Data.Sizes[i] = shrunk(n, scale, 1)
		sizes = append(sizes, strconv.Itoa(c.Data.Sizes[i]))
	}
	const asPublished = 20
	if c.Tuner.Options == nil {
		c.Tuner.Options = map[string]any{}
	}
	c.Tuner.Options["samples"] = strings.Join(sizes, ", ")
	c.Tuner.Options["rounds"] = int64(shrunk(asPublished, scale, 1))
	return []string{
		fmt.Sprintf("scaled by %v: %d rounds instead of %d", scale, c.Rounds, rounds),
		fmt.Sprintf("scaled by %v: clients and the table's rows have %s samples instead of %s", scale, strings.Join(sizes, ", "), strings.Join(was, ", ")),
		fmt.Sprintf("scaled by %v: proxy federations run %v rounds instead of %d", scale, c.Tuner.Options["rounds"], asPublished),
	}
}

func fedtuneCells() []Cell {
	var cells []Cell
	accuracy := func(name, where string, published float64, t *Training) {
		c := Cell{Name: name, Paper: fedtunePaper, Where: where, Unit: "% best test accuracy", Training: t, Measure: bestAccuracy}
		if published > 0 {
			c.Published = &Published{Mean: published, Seeds: seedsOf(t)}
		}
		if t == nil {
			c.Why = "a full grid: 3,600 proxy federations for each of 24 cells"
		}
		cells = append(cells, c)
	}
	steps := func(name, where string, published float64, t *Training) {
		c := Cell{Name: name, Paper: fedtunePaper, Where: where, Unit: "trials on proxy federations", Training: t, Measure: sideTrials}
		if published > 0 {
			c.Published = &Published{Mean: published, Seeds: seedsOf(t)}
		}
		cells = append(cells, c)
	}
	for _, set := range papers().FedTune {
		name := "fedtune-table1/" + set.Name
		accuracy(name+"/global", "Table 1", set.Accuracy[0], fedtuneTraining(set, "global"))
		accuracy(name+"/table", "Table 1", set.Accuracy[1], fedtuneTraining(set, "table"))
		accuracy(name+"/hand", "Table 1", set.Accuracy[2], nil)
	}
	published := map[string][2]float64{"bo": {81.24, 36_000}, "random": {81.24, 79_000}, "grid": {81.24, 0}}
	for _, search := range []string{"bo", "random", "grid"} {
		t := fedtuneTraining(papers().FedTune[0], "table")
		if search != "bo" { // which Table 1 has
			t.Key, t.Sets = "fedtune-femnist-"+search, append(t.Sets, "tuner.options.search="+search)
		}
		if search == "random" {
			t.Seeds, t.OneTable = 10, false
		}
		n := published[search]
		accuracy("fedtune-fig5a/"+search+"/accuracy", "Figure 5a", n[0], t)
		steps("fedtune-fig5a/"+search+"/trials", "Figure 5a", n[1], t)
	}
	for _, tuning := range []string{"global", "table"} {
		t := fedtuneTraining(papers().FedTune[0], tuning)
		t.Key, t.Sets = "fedtune-femnist-fedadagrad-"+tuning, append(t.Sets, "method=fedadagrad")
		t.Deviates = append(t.Deviates, "FedAdagrad's server learning rate is not in the paper: the method's own")
		accuracy("fedtune-fig7/fedadagrad/"+tuning, "Figure 7", 0, t)
	}
	cells = append(cells, Cell{
		Name: "fedtune-table2/order", Paper: fedtunePaper, Where: "Table 2", Unit: "rank correlation of a table's learning rates with its heterogeneity indices",
		Instead: "1 in each of four columns", Training: fedtuneTraining(papers().FedTune[3], "table"), Measure: ratesByHI,
	})
	for _, set := range papers().FedTune {
		steps("fedtune-fig5b/"+set.Name, "Figure 5b", 0, fedtuneTraining(set, "table"))
	}
	for _, grid := range []struct{ cells, hi, samples string }{
		{"1", "0.5", "500"},
		{"6", "0.4, 0.8", "200, 600, 1000"},
		{"12", "0.2, 0.4, 0.6, 0.8", "200, 600, 1000"},
		{cells: "24"},
		{"48", "0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8", "100, 200, 400, 600, 800, 1000"},
	} {
		t := fedtuneTraining(papers().FedTune[0], "table")
		if grid.cells == "24" { // which Table 1 has
			accuracy("fedtune-fig8/cells24", "Figure 8", 0, t)
			continue
		}
		t.Key, t.Sets = "fedtune-femnist-cells"+grid.cells, append(t.Sets, "tuner.options.hi="+quote(grid.hi), "tuner.options.samples="+quote(grid.samples))
		t.Deviates = append(t.Deviates, "which cells a table of "+grid.cells+" has is not in the paper: ours")
		t.Shrink = func(c *config.Config, scale float64) []string {
			options := c.Tuner.Options["samples"]
			notes := shrinkFedtune(c, scale)
			c.Tuner.Options["samples"] = scaledList(fmt.Sprint(options), scale)
			return notes
		}
		accuracy("fedtune-fig8/cells"+grid.cells, "Figure 8", 0, t)
	}
	return cells
}

// brokeAt is the round after which the test accuracy stays below half of the best
// before; it is NaN for a run that does not break down, and for a regression.
func brokeAt(m *Metrics) float64 {
	if _, from := result.Broke(m.End.Curve); from != nil && !m.End.regression() {
		return float64(from.Round)
	}
	return math.NaN()
}

// seedsOf is how often a paper repeated a training; once what cannot be run here.
func seedsOf(t *Training) int {
	if t == nil {
		return 1
	}
	return t.Seeds
}

// scaledList scales the integers of a list such as "100, 200".
func scaledList(list string, scale float64) string {
	var out []string
	for word := range strings.SplitSeq(list, ",") {
		n, _ := strconv.Atoi(strings.TrimSpace(word)) // a list of this package
		out = append(out, strconv.Itoa(shrunk(n, scale, 1)))
	}
	return strings.Join(out, ", ")
}

// bestAccuracy is the best measured test accuracy, in percent, as FedTune reports
// it; NaN for a regression.
func bestAccuracy(m *Metrics) (float64, bool) {
	best := math.NaN()
	for _, p := range m.End.Curve {
		if a := m.End.accuracy(p.TestError); !(a <= best) {
			best = a
		}
	}
	return best, true
}

// ratesByHI is Spearman's rank correlation of the learning rates of a table's cells with
// their heterogeneity indices, in trial 1, whose table the others have; NaN for others and
// without a table.
func ratesByHI(m *Metrics) (float64, bool) {
	if m.Head.Seed != 1 {
		return math.NaN(), true
	}
	var his, rates []float64
	if best := result.BestProxies(m.Sides, tuners.Objective{}); len(m.Sides) > 0 {
		for _, row := range best.Cells {
			for _, side := range row {
				if side != nil {
					his, rates = append(his, side.Environment.HI), append(rates, side.Params.Float("client.lr", math.NaN()))
				}
			}
		}
	} else if _, text, ok := strings.Cut(m.Head.Config, `"`+tableOption+`" = "`); ok { // one that was handed to it
		text, _, _ = strings.Cut(text, `"`)
		for cell := range strings.SplitSeq(text, ";") {
			var hi, samples, lr float64
			if _, err := fmt.Sscan(cell, &hi, &samples, &lr); err != nil {
				return math.NaN(), true
			}
			his, rates = append(his, hi), append(rates, lr)
		}
	}
	return stats.Spearman(his, rates), true
}

// sideTrials is how many trials were run on proxy federations; NaN for a trial that
// was handed its table.
func sideTrials(m *Metrics) (float64, bool) {
	if len(m.Sides) == 0 {
		return math.NaN(), true
	}
	return float64(len(m.Sides)), true
}

func fedtuneClaims() []Comparison {
	claims := []Comparison{{
		Name: "fedtune-fig7/fedadagrad", Claim: "the table beats global tuning with FedAdagrad, too", Words: "about 4",
		New: "fedtune-fig7/fedadagrad/table", Old: "fedtune-fig7/fedadagrad/global", Higher: true,
	}}
	for _, set := range papers().FedTune {
		name := "fedtune-table1/" + set.Name
		claims = append(claims, Comparison{Name: name, Claim: "the table beats global tuning", New: name + "/table", Old: name + "/global", Higher: true})
	}
	return claims
}

// keyOf turns the name of a cell into that of a directory.
func keyOf(name string) string { return strings.ReplaceAll(name, "/", "-") }
