package fl

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
)

// heterogeneity returns the heterogeneity index of samples with the given counts
// of the classes: 1 - (c - 1) / (classes - 1) for c classes that they hold, 0 to 1.
// (FedTune)
func heterogeneity(counts []int) float64 {
	held := list.Count(counts, func(n int) bool { return n > 0 })
	if held == 0 || len(counts) < 2 {
		return 1
	}
	return 1 - float64(held-1)/float64(len(counts)-1)
}

// Lookup returns what a client of the federation, unseen ones after the others, takes from a table: the cell
// nearest in HI, of several the nearest in Samples, of several the first. Both are
// facts about all samples that the client holds, as in FedTune's paper, not about
// those alone that it trains on: its training and validation examples, and its
// test examples unless they are the files' own. The error names examples which
// cannot be read.
func (e *Engine) Lookup(table []hyper.Cell, client int) (ClientParams, error) {
	c := e.client(client)
	views := []data.View{c.Train, c.Val}
	if !e.cfg.Data.FilesTest {
		views = append(views, c.Test)
	}
	counts, samples := make([]int, e.cfg.Data.Classes), 0
	for _, v := range views {
		samples += v.Len()
		own, err := v.ClassCounts(len(counts))
		if err != nil {
			return ClientParams{}, err
		}
		for class, n := range own {
			counts[class] += n
		}
	}
	return lookup(table, heterogeneity(counts), float64(samples)), nil
}

// lookup finds a cell. Distances within rounding of each other are equal, so that
// a client midway between two columns takes the first.
func lookup(table []hyper.Cell, hi, samples float64) ClientParams {
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
