package recorded

import (
	"errors"
	"fmt"
	"maps"
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
	// Ranks are by tuner, the best mean first, over those that played on every table that any
	// tuner played on.
	Ranks []Rank `json:"ranks"`
	// Friedman is the test whether all of Ranks are alike, over tables and seeds: what it says
	// holds for these tables. Pairs are of Ranks, each with all after it.
	Friedman Friedman `json:"friedman"`
	Pairs    []Pair   `json:"pairs"`
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
	Rounds int     `json:"rounds"`
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
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

// Friedman is the test of Friedman over blocks of a table and a seed.
type Friedman struct {
	Blocks int     `json:"blocks"`
	Chi2   float64 `json:"chi2"`
	P      float64 `json:"p"`
	// Critical is Nemenyi's critical difference of mean ranks at 5 %.
	Critical float64 `json:"critical_difference"`
}

// Pair compares the ranks of two tuners.
type Pair struct {
	Tuner  string `json:"tuner"`
	Behind string `json:"behind"`
	// Ahead is how many ranks Tuner is ahead, with a 90 % interval as that of Rank.
	Ahead stats.Sample `json:"ahead"`
	// P is the p-value of sign flips over tables and seeds, by Holm for the number of pairs.
	P float64 `json:"p_holm"`
}

// alpha is the level of the critical difference.
const alpha = 0.05

// compare fills in the tests, from the ranks of each tuner by group.
func (s *Standings) compare(ranks map[string]map[int][]float64) {
	if len(s.Ranks) < 2 {
		return
	}
	groups := slices.Sorted(maps.Keys(ranks[s.Ranks[0].Tuner]))
	var blocks [][]float64
	for _, g := range groups {
		for i := range ranks[s.Ranks[0].Tuner][g] {
			row := make([]float64, len(s.Ranks))
			for k, r := range s.Ranks {
				row[k] = ranks[r.Tuner][g][i]
			}
			blocks = append(blocks, row)
		}
	}
	chi2, p := stats.Friedman(blocks)
	s.Friedman = Friedman{Blocks: len(blocks), Chi2: chi2, P: p, Critical: stats.Nemenyi(len(s.Ranks), len(blocks), alpha)}
	var ps []float64
	for i, a := range s.Ranks {
		for k, b := range s.Ranks[i+1:] {
			ahead := map[int][]float64{}
			var all []float64
			for _, g := range groups {
				for n, own := range ranks[a.Tuner][g] {
					ahead[g] = append(ahead[g], ranks[b.Tuner][g][n]-own)
				}
			}
			for _, row := range blocks {
				all = append(all, row[i+1+k]-row[i])
			}
			p := stats.ManyFlips(all)
			if math.IsNaN(p) { // all alike
				p = 1
			}
			ps = append(ps, p)
			s.Pairs = append(s.Pairs, Pair{Tuner: a.Tuner, Behind: b.Tuner, Ahead: stats.Clustered(ahead)})
		}
	}
	for i, p := range stats.Holm(ps) {
		s.Pairs[i].P = p
	}
}

// rank fills in the ranks of the tuners that have a cell for each table that any tuner played on.
func (s *Standings) rank() {
	played, playedOn := map[string]int{}, map[string]bool{}
	for i := range s.Cells {
		played[s.Cells[i].Tuner]++
		playedOn[s.Cells[i].Table] = true
	}
	ranks, wins := map[string]map[int][]float64{}, map[string]float64{}
	for i, table := range s.Tables {
		var cells []*Cell
		for k := range s.Cells {
			if cell := &s.Cells[k]; cell.Table == table.Name && played[cell.Tuner] == len(playedOn) {
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
				if len(playedOn) == 1 {
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
		s.Ranks = append(s.Ranks, Rank{Tuner: name, Rank: stats.Clustered(groups), Wins: wins[name] / float64(s.Seeds*len(playedOn))})
	}
	slices.SortFunc(s.Ranks, func(a, b Rank) int {
		if a.Rank.Mean != b.Rank.Mean {
			return int(math.Copysign(1, a.Rank.Mean-b.Rank.Mean))
		}
		return slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Tuner == a.Tuner }) - slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Tuner == b.Tuner })
	})
	s.compare(ranks)
}

// lowestDrawn stands for lower regrets, 0 among them, on axes of logarithms.
const lowestDrawn = 0.1

// Figure draws the median regrets, a panel for each table.
func (s *Standings) Figure() (*figure.Figure, error) {
	if len(s.Cells) == 0 {
		return nil, errors.New("nothing to plot")
	}
	f := &figure.Figure{
		Name: "tuners", Title: "Regret against rounds spent",
		Note: fmt.Sprintf("validation error, on all clients, of the incumbent above the lowest of the table, in points, of an RMSE in %%, %v for less; medians of %s", lowestDrawn, oneline.Count(s.Seeds, "seed")),
	}
	for _, table := range s.Tables {
		panel := figure.Panel{Title: table.Name, X: figure.Axis{Label: "rounds", Whole: true}, Y: figure.Axis{Label: "regret, points or %", Log: true}}
		for i := range s.Cells {
			cell := &s.Cells[i]
			if cell.Table != table.Name {
				continue
			}
			line := figure.Line{Name: cell.Tuner, Step: true}
			for _, r := range cell.Curve {
				line.Points = append(line.Points, figure.Point{X: float64(r.Rounds), Y: max(100*r.Median, lowestDrawn)})
			}
			panel.Lines = append(panel.Lines, line)
		}
		f.Panels = append(f.Panels, panel)
	}
	if len(s.Ranks) > 1 {
		panel := figure.Panel{Title: "mean ranks: those whose bars do not meet differ", X: figure.Axis{Label: "tuner"}, Y: figure.Axis{Label: "mean rank", Bands: true}}
		line := figure.Line{Name: "mean rank, half the critical difference (Nemenyi, 5 %)"}
		for i, r := range s.Ranks {
			panel.X.Names = append(panel.X.Names, r.Tuner)
			line.Points = append(line.Points, figure.Point{X: float64(i + 1), Y: r.Rank.Mean, Half: s.Friedman.Critical / 2})
		}
		panel.Lines = []figure.Line{line}
		f.Panels = append(f.Panels, panel)
	}
	return f, nil
}
