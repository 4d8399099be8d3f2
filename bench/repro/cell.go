package repro

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// Cell is one published number of a paper, or the end of one published curve.
type Cell struct {
	// Name is a path: the table or figure, its row, and last what is told apart.
	Name string
	// Paper and Where say where the number stands.
	Paper, Where string
	// Unit is the unit of Published and of Measure.
	Unit string
	// Published is nil where no number is known: of curves, whose points the papers do
	// not print, or Instead says of what else.
	Published *Published
	Instead   string
	// Training is how the number comes about here; nil for one that cannot be had,
	// and then Why says why.
	Training *Training
	Why      string
	// Picture is the common part of the names of cells whose curves belong into one
	// picture, empty for none; Target is whose score the curve shows, empty for
	// test accuracy.
	Picture, Target string
	// Measure reads the number from one seed, NaN where there is none. For one
	// that did not reach its goal it is what was spent in vain, with reached =
	// false.
	Measure func(*Metrics) (x float64, reached bool)
	// Survivor reads the same number of the last survivor, which a study returns
	// beside its best model; nil where there is none.
	Survivor func(*Metrics) (x float64, reached bool)
}

// Published is a number as a paper prints it.
type Published struct {
	// Mean and SD are over a number of Seeds; SD is 0 if the paper does not give it.
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd,omitempty"`
	Seeds int     `json:"seeds,omitempty"`
	// NA is set where no seed reached the goal: there is no mean.
	NA bool `json:"not_reached,omitempty"`
}

// Comparison is a claim about two cells: that New is better than Old.
type Comparison struct {
	// Name is the common part of both cells' names.
	Name string
	// Claim says in words what the paper claims.
	Claim string
	// Words is the paper's gain where it prints no number of both cells; empty for none.
	Words string
	// New and Old are names of cells.
	New, Old string
	// Ratio says that the paper's gain is how many times lower New is.
	Ratio bool
	// Higher says that a higher number is better.
	Higher bool
}

// Cells returns all cells in the order of the papers.
func Cells() []Cell {
	return slices.Concat(
		fedexTable(), fedexFigures(), fedexElsewhere(), workshopCells(), pairedCells(), ablationCells(), rivalCells(), fathomCells(),
		fedtuneCells(), fedtuneElsewhere(), nasCells(), nasElsewhereToo(), deviceCells(), tunedCells(), pfllibCells(), boardCells(), privateCells(),
	)
}

// Comparisons returns the papers' claims about pairs of cells.
func Comparisons() []Comparison {
	return slices.Concat(fedexClaims(), figureClaims(), workshopClaims(), pairedClaims(), ablationClaims(), fathomClaims(), fedtuneClaims(), nasClaims(), deviceClaims(), tunedClaims(), pfllibClaims(), privateClaims())
}

// Select returns the cells of a name: the one, or all below it.
func Select(name string) ([]Cell, error) {
	all := Cells()
	name = strings.Trim(name, "/")
	found := list.Where(all, func(c Cell) bool { return c.Name == name || strings.HasPrefix(c.Name, name+"/") })
	if len(found) > 0 {
		return found, nil
	}
	return nil, fmt.Errorf("unknown experiment %q%s; see `fedfast repro list`", name, key.DidYouMean(name, key.Names(parts(all)...)))
}

// parts returns the names of the cells and of what they are parts of.
func parts(all []Cell) []string {
	var known []string
	for _, c := range all {
		for at := range c.Name {
			if c.Name[at] == '/' {
				known = append(known, c.Name[:at])
			}
		}
		known = append(known, c.Name)
	}
	return known
}

// fedexElsewhere are what FedEx's paper shows and no study here measures.
func fedexElsewhere() []Cell {
	return []Cell{
		{
			Name: "fedex-fig3/range", Paper: fedexPaper, Where: "Figure 3", Unit: "points of error between the configurations of a neighbourhood of eps 0.1", Instead: "10 to 20",
			Why: "each of the 27 configurations of a neighbourhood would be trained alone, as arms without FedEx",
		},
		{
			Name: "fedex-theorem4.1", Paper: fedexPaper, Where: "Theorem 4.1", Unit: "task-averaged regret", Instead: "at most ((m/tau)^(1/3) + V) m^(1/2), but for logarithms",
			Why: "a claim about online convex optimization, not about a federation: TestRegretOfTheorem41 of internal/tuner/fedex plays it, with baseline = zero",
		},
	}
}

// fedtuneElsewhere are the numbers of FedTune's paper that cannot be measured here, with
// what it would take.
func fedtuneElsewhere() []Cell {
	var cells []Cell
	add := func(name, where, unit, why string, published float64) {
		c := Cell{Name: name, Paper: fedtunePaper, Where: where, Unit: unit, Why: why}
		if published > 0 {
			c.Published = &Published{Mean: published, Seeds: 1}
		}
		cells = append(cells, c)
	}
	const byHand = "each of 192 clients tuned by hand: 3,600 settings of 20 rounds each"
	add("fedtune-fig1a/gain", "Figure 1a", "points of test accuracy gained by clients that are tuned by hand", byHand, 7.4)
	add("fedtune-fig1b/rates", "Figure 1b", "clients that share a learning rate", byHand, 0)
	add("fedtune-fig1c/cost", "Figure 1c", "tuning iterations by clients", "a count that follows from the settings: 20 rounds a client and setting against 100 rounds of a tenth of the clients", 0)
	add("fedtune-fig2a/estimated", "Figure 2a", "learning rate at an index of 0.36 by a quadratic fit", "the five points that are fitted are in a picture alone", 0.029)
	add("fedtune-fig2a/tuned", "Figure 2a", "learning rate at an index of 0.36 tuned by hand", "the federations are not described", 0.034)
	add("fedtune-fig2b/loss", "Figure 2b", "points of test accuracy lost by estimated rates", "the federations are not described", 15)
	add("fedtune-fig2c/overfit", "Figure 2c", "test accuracy over rounds, tuned on proxy and on own samples", "the federations are not described", 0)
	for _, row := range []struct {
		hi    string
		rates [4]float64
	}{{"0.35", [4]float64{0.021, 0.04, 0.041, 0.061}}, {"0.5", [4]float64{0.032, 0.065, 0.071, 0.105}}, {"0.75", [4]float64{0.042, 0.086, 0.081, 0.125}}} {
		for i, column := range []string{"batch5-samples400", "batch10-samples400", "batch20-samples800", "batch30-samples800"} {
			add("fedtune-table2/hi"+row.hi+"/"+column, "Table 2", "best learning rate of such clients, tuned by hand",
				"neither the set of data nor the number of clients is named; fedtune-table2/order asks tables for the trend", row.rates[i])
		}
	}
	add("fedtune-fig6", "Figure 6", "points of test accuracy gained with indices, Gaussian and Poisson distributions", "the distributions' parameters are not named", 0)
	add("fedtune-fig7/leaf", "Figure 7", "points of test accuracy gained by a table with LEAF's own clients", "the table's cells for LEAF's clients, of 0 to 584 samples, are not named", 2.3)
	return cells
}

// nasElsewhereToo are what PerFedRLNAS' appendix says besides its tables.
func nasElsewhereToo() []Cell {
	var cells []Cell
	const fedoras = "the tuner fedoras runs tiers, not this experiment: its supernet and its phases are other ones (perfedrlnas/cifar10/fedoras)"
	for i, row := range [][2]float64{{75.52, 5.92}, {74.91, 6.63}, {75.39, 6.11}, {74.32, 5.87}} {
		cells = append(cells, Cell{
			Name: "perfedrlnas/fedoras/tier" + string(rune('1'+i)), Paper: nasPaper, Where: "text of the appendix (+- over clients)", Unit: "% test accuracy of FedorAS",
			Why: fedoras, Published: &Published{Mean: row[0], SD: row[1], Seeds: 1},
		})
	}
	return append(cells, Cell{
		Name: "perfedrlnas/fig8/seeds", Paper: nasPaper, Where: "Figure 8", Unit: "standard deviation of test accuracy over 5 seeds, % (clients' data the same)",
		Why: "a spread over seeds is no number of one seed: `repro perfedrlnas/cifar10/perfedrlnas --seeds 5 --set data.seed=1` has it beside the mean", Published: &Published{Mean: 0.498, Seeds: 5},
	})
}
