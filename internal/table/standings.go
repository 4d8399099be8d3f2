package table

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Standings are what came of a Contest.
type Standings struct {
	Tables []Digest `json:"tables"`
	Seeds  int      `json:"seeds"`
	// Sets are the contest's.
	Sets []string `json:"sets,omitempty"`
	// Cells are by table, then by tuner.
	Cells []Cell `json:"cells"`
	// Ranks are by tuner, the best mean first, over those that played on every table.
	Ranks []Rank `json:"ranks"`
	// LeftOut says why a tuner did not play on a table.
	LeftOut []string `json:"left_out,omitempty"`
}

// Digest names a table and has the SHA-256 of its Parquet file.
type Digest struct {
	Name   string `json:"name"`
	SHA256 string `json:"parquet_sha256"`
}

// Cell is a tuner on a table: its regret is the validation error, on all clients, of the
// incumbent, less the lowest of the table, of a regression as a share of the lowest. The
// incumbent is the trial that has run the furthest, of several the one with the best score that
// the tuner was told.
type Cell struct {
	Table string `json:"table"`
	Tuner string `json:"tuner"`
	// Rounds is the budget. Curve is the regret after parts of half the table's rounds.
	Rounds int      `json:"rounds"`
	Curve  []Regret `json:"regret"`
	// Final is the regret at the end, by seed.
	Final []float64 `json:"final"`
}

// Regret are quartiles over the seeds.
type Regret struct {
	Rounds int `json:"rounds"`
	Quartiles
}

// Rank is the place of a tuner by its regret at the end.
type Rank struct {
	Tuner string `json:"tuner"`
	// Rank is the mean over tables and seeds, ties having the mean of their ranks, with a 90 %
	// interval, over tables where there are several.
	Rank stats.Sample `json:"rank"`
	// Wins is the share of tables and seeds in which no other had a lower regret, ties being
	// shared.
	Wins float64 `json:"wins"`
}

// rank fills in the ranks of the tuners that were not left out.
func (s *Standings) rank(out map[string]bool) {
	ranks, wins := map[string]map[int][]float64{}, map[string]float64{}
	for i, table := range s.Tables {
		var cells []*Cell
		for k := range s.Cells {
			if cell := &s.Cells[k]; cell.Table == table.Name && !out[cell.Tuner] {
				cells = append(cells, cell)
			}
		}
		for seed := range s.Seeds {
			for _, cell := range cells {
				lower, same := 0, 0
				for _, other := range cells {
					switch {
					case other.Final[seed] < cell.Final[seed]:
						lower++
					case other.Final[seed] == cell.Final[seed]:
						same++
					}
				}
				if ranks[cell.Tuner] == nil {
					ranks[cell.Tuner] = map[int][]float64{}
				}
				group := i
				if len(s.Tables) == 1 {
					group = seed
				}
				ranks[cell.Tuner][group] = append(ranks[cell.Tuner][group], float64(lower)+float64(same+1)/2)
				if lower == 0 {
					wins[cell.Tuner] += 1 / float64(same)
				}
			}
		}
	}
	for name, groups := range ranks {
		s.Ranks = append(s.Ranks, Rank{Tuner: name, Rank: stats.Clustered(groups), Wins: wins[name] / float64(s.Seeds*len(s.Tables))})
	}
	slices.SortFunc(s.Ranks, func(a, b Rank) int {
		if a.Rank.Mean != b.Rank.Mean {
			return int(math.Copysign(1, a.Rank.Mean-b.Rank.Mean))
		}
		return slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Tuner == a.Tuner }) - slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Tuner == b.Tuner })
	})
}

// Figure draws the median regrets, a panel for each table.
func (s *Standings) Figure() (*figure.Figure, error) {
	if len(s.Cells) == 0 {
		return nil, errors.New("nothing to plot")
	}
	f := &figure.Figure{
		Name: "tuners", Title: "Regret against rounds spent",
		Note: fmt.Sprintf("validation error, on all clients, of the incumbent above the lowest of the table, in points, of an RMSE in %%; medians of %s", oneline.Count(s.Seeds, "seed")),
	}
	for _, table := range s.Tables {
		panel := figure.Panel{Title: table.Name, X: figure.Axis{Label: "rounds", Whole: true}, Y: figure.Axis{Label: "regret, points or %", Zero: true}}
		for i := range s.Cells {
			cell := &s.Cells[i]
			if cell.Table != table.Name {
				continue
			}
			line := figure.Line{Name: cell.Tuner, Step: true}
			for _, r := range cell.Curve {
				line.Points = append(line.Points, figure.Point{X: float64(r.Rounds), Y: 100 * r.Median})
			}
			panel.Lines = append(panel.Lines, line)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f, nil
}
