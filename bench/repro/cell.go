package repro

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
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
	// Target is whose scores of arms are compared, empty for none.
	Target string
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
		fedexTable(), fedexFigures(), workshopCells(), pairedCells(), ablationCells(), rivalCells(), fathomCells(),
		fedtuneCells(), nasCells(), deviceCells(), pfllibCells(), boardCells(), privateCells(),
	)
}

// Comparisons returns the papers' claims about pairs of cells.
func Comparisons() []Comparison {
	return slices.Concat(fedexClaims(), figureClaims(), workshopClaims(), pairedClaims(), ablationClaims(),
		fathomClaims(), fedtuneClaims(), nasClaims(), deviceClaims(), pfllibClaims(), privateClaims())
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

// units are the errors of result.Errors.Measure as units and axes name them.
var units = map[string]struct{ error, accuracy, percent string }{
	"":                   {"error", "accuracy", ", %"},
	result.MeasureRecall: {"1 - recall", "recall", ", %"},
	result.MeasureRMSE:   {"RMSE", "RMSE", ""},
}

// regression says that the errors belong to a regression, which are no shares.
func (e *End) regression() bool { return e.Measure == result.MeasureRMSE }

// error is an error as reports show it: a share in percent, that of a regression as
// it is.
func (e *End) error(x float64) float64 {
	if e.regression() {
		return x
	}
	return 100 * x
}

// accuracy is what an error leaves of the whole, in percent; NaN for a regression, which
// has none.
func (e *End) accuracy(x float64) float64 {
	if e.regression() {
		return math.NaN()
	}
	return 100 * (1 - x)
}

// measuredBy returns the cell as it is called where errors are of another measure than
// the paper's: its number is no longer beside a published one.
func (c Cell) measuredBy(measure string) Cell {
	if measure == "" {
		return c
	}
	paper, words := c.Unit, units[measure]
	switch {
	case measure != result.MeasureRMSE:
		c.Unit = strings.NewReplacer("error", words.error, "accuracy", words.accuracy).Replace(c.Unit)
	case strings.Contains(c.Unit, "error"): // there are no accuracies
		c.Unit = strings.ReplaceAll(strings.TrimPrefix(c.Unit, "% "), "error", words.error)
	}
	if c.Unit != paper && c.Published != nil {
		c.Published, c.Instead = nil, c.Published.Or("")+" "+paper
	}
	return c
}
