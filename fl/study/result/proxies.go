package result

import (
	"slices"

	"github.com/fedfast/fedfast/tuners"
)

// ProxyTrial is one trial on a proxy federation, of equal clients or of a table of them.
type ProxyTrial struct {
	Environment tuners.Environment `json:"environment"`
	Params      tuners.Params      `json:"params"`
	// Table are the clients of a mixed proxy federation, one of each cell.
	Table  []tuners.Cell `json:"table,omitempty"`
	Rounds int           `json:"rounds"`
	// Score is the score of its global model on proxy samples that no client holds,
	// nil when it failed.
	Score *float64 `json:"score"`
}

// ProxyTable is what trials on proxy federations found best, as FedTune's
// reference table has it: a row for each number of samples and a column for each
// heterogeneity index.
type ProxyTable struct {
	// Samples and HIs belong to the trials, from the lowest on.
	Samples []int
	HIs     []float64
	// Cells hold by row and column the trial of the best score, of equal ones
	// the first; nil where none has a score.
	Cells [][]*ProxyTrial
}

// BestProxies makes the table of trials on proxy federations of a study with an objective. Of
// trials on mixed ones it is the table of the best trial, whose score all cells have.
func BestProxies(sides []ProxyTrial, aim tuners.Objective) ProxyTable {
	if len(sides) > 0 && len(sides[0].Table) > 0 {
		sides = bestMixed(sides, aim)
	}
	t := ProxyTable{}
	for _, s := range sides {
		t.Samples, t.HIs = append(t.Samples, s.Environment.Samples), append(t.HIs, s.Environment.HI)
	}
	slices.Sort(t.Samples)
	slices.Sort(t.HIs)
	t.Samples, t.HIs = slices.Compact(t.Samples), slices.Compact(t.HIs)
	for range t.Samples {
		t.Cells = append(t.Cells, make([]*ProxyTrial, len(t.HIs)))
	}
	for i := range sides {
		s := &sides[i]
		if s.Score == nil {
			continue
		}
		row, _ := slices.BinarySearch(t.Samples, s.Environment.Samples)
		column, _ := slices.BinarySearch(t.HIs, s.Environment.HI)
		if best := &t.Cells[row][column]; *best == nil || aim.Better(*s.Score, *(*best).Score) {
			*best = s
		}
	}
	return t
}

// bestMixed returns the cells of the trial of the best score, of equal ones the first, as
// a trial each; nil when none has a score.
func bestMixed(sides []ProxyTrial, aim tuners.Objective) []ProxyTrial {
	var best *ProxyTrial
	for i, s := range sides {
		if s.Score != nil && (best == nil || aim.Better(*s.Score, *best.Score)) {
			best = &sides[i]
		}
	}
	if best == nil {
		return nil
	}
	var cells []ProxyTrial
	for _, c := range best.Table {
		cell := *best
		cell.Environment.HI, cell.Environment.Samples = c.Keys[tuners.KeyHI], int(c.Keys[tuners.KeySamples])
		cell.Params, cell.Table = c.Params, nil
		cells = append(cells, cell)
	}
	return cells
}
