package fl

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
)

// Cell is a row of a table that clients look up: the hyperparameters for a
// client whose training examples have about this heterogeneity index and number.
type Cell struct {
	HI, Samples float64
	Params      ClientParams
}

// Heterogeneity returns the heterogeneity index of examples of the given number
// of classes: 1 - (c - 1) / (classes - 1) for c classes that they hold, 0 to 1.
// (FedTune)
func Heterogeneity(v data.View, classes int) float64 {
	held := 0
	for _, n := range v.ClassCounts(classes) {
		if n > 0 {
			held++
		}
	}
	if held == 0 || classes < 2 {
		return 1
	}
	return 1 - float64(held-1)/float64(classes-1)
}

// Lookup returns what a client of the federation takes from a table: the cell
// nearest in HI, of several the nearest in Samples, of several the first.
func (e *Engine) Lookup(table []Cell, client int) ClientParams {
	v := e.cfg.Data.Clients[client].Train
	return lookup(table, Heterogeneity(v, e.cfg.Data.Classes), float64(v.Len()))
}

// lookup finds a cell. Distances within rounding of each other are equal, so that
// a client midway between two columns takes the first.
func lookup(table []Cell, hi, samples float64) ClientParams {
	const equal = 1e-9
	best := 0
	for i, c := range table {
		d, least := math.Abs(c.HI-hi), math.Abs(table[best].HI-hi)
		if d < least-equal || d <= least+equal && math.Abs(c.Samples-samples) < math.Abs(table[best].Samples-samples) {
			best = i
		}
	}
	return table[best].Params
}

// checkTable returns an error for a plan that holds both a table and
// hyperparameters of slots.
func (p Plan) checkTable() error {
	if len(p.Table) > 0 && len(p.Clients) > 0 {
		return fmt.Errorf("plan has a table and %d client configurations: only one of the two can be", len(p.Clients))
	}
	return nil
}
