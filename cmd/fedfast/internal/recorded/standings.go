package recorded

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
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
	// Friedman is the test whether all of Ranks are alike, over tables, seeds and budgets: what it says
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
	// Lowest and Highest are the lowest and the highest validation error on all clients of any recorded
	// round, of a regression the highest before any training. Median is the median of the configurations
	// after their last round, where one that failed has the highest.
	Lowest  float64 `json:"lowest_val_error"`
	Median  float64 `json:"median_val_error"`
	Highest float64 `json:"highest_val_error"`
}

// Cell is a tuner on a table.
type Cell struct {
	Table string `json:"table"`
	Tuner string `json:"tuner"`
	// Regrets are by budget, the smallest first.
	Regrets []Regret `json:"regrets"`
}

// Regret is how much higher the validation error, on all clients, of the model that a study returns
// is than the lowest of the table, as a percentage of how much that of the median configuration is.
type Regret struct {
	// Trainings is the budget in trainings of all of the table's rounds, Rounds how many rounds the tuner
	// took, 0 of a budget that is too small for it.
	Trainings int `json:"trainings"`
	Rounds    int `json:"rounds"`
	// Scaled are the regrets by seed.
	Scaled []float64 `json:"scaled,omitempty"`
}

// at is the regret of a seed, infinite where the budget was too small.
func (r *Regret) at(seed int) float64 {
	if r.Rounds == 0 {
		return math.Inf(1)
	}
	return r.Scaled[seed]
}

// Rank is the place of a tuner by its regrets.
type Rank struct {
	Tuner string `json:"tuner"`
	// Regrets are the means over tables and seeds by budget, with intervals as that of Rank, NaN where a
	// table's budget was too small.
	Regrets []stats.Sample `json:"regrets"`
	// Rank is the mean over tables, seeds and budgets, ties having the mean of their ranks, with a 90 %
	// interval, over tables where there are several.
	Rank stats.Sample `json:"rank"`
	// Wins is the share of tables, seeds and budgets in which no other had a lower regret, ties being
	// shared.
	Wins float64 `json:"wins"`
}

// Friedman is the test of Friedman over blocks of a table, a seed and a budget.
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
	// P is the p-value of sign flips over tables, seeds and budgets, by Holm for the number of pairs.
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
			row := list.Of(s.Ranks, func(r Rank) float64 { return ranks[r.Tuner][g][i] })
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
			all = append(all, list.Of(blocks, func(row []float64) float64 { return row[i+1+k] - row[i] })...)
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
	ranks, wins, regrets := map[string]map[int][]float64{}, map[string]float64{}, map[string][len(trainings)]map[int][]float64{}
	for i, table := range s.Tables {
		var cells []*Cell
		for k := range s.Cells {
			if cell := &s.Cells[k]; cell.Table == table.Name && played[cell.Tuner] == len(playedOn) {
				cells = append(cells, cell)
			}
		}
		for at := range len(trainings) * s.Seeds {
			budget, seed := at/s.Seeds, at%s.Seeds
			for _, cell := range cells {
				own, lower, same := cell.Regrets[budget].at(seed), 0, 0
				for _, other := range cells {
					switch regret := other.Regrets[budget].at(seed); {
					case regret < own:
						lower++
					case regret == own:
						same++
					}
				}
				if ranks[cell.Tuner] == nil {
					ranks[cell.Tuner] = map[int][]float64{}
					var by [len(trainings)]map[int][]float64
					for k := range by {
						by[k] = map[int][]float64{}
					}
					regrets[cell.Tuner] = by
				}
				group := i
				if len(playedOn) == 1 {
					group = seed
				}
				ranks[cell.Tuner][group] = append(ranks[cell.Tuner][group], float64(lower)+float64(same+1)/2)
				regrets[cell.Tuner][budget][group] = append(regrets[cell.Tuner][budget][group], own)
				if lower == 0 {
					wins[cell.Tuner] += 1 / float64(same)
				}
			}
		}
	}
	for name, groups := range ranks {
		r := Rank{Tuner: name, Rank: stats.Clustered(groups), Wins: wins[name] / float64(len(trainings)*s.Seeds*len(playedOn))}
		for _, by := range regrets[name] {
			of := stats.Clustered(by)
			if math.IsInf(of.Mean, 1) {
				of = stats.Of(nil)
			}
			r.Regrets = append(r.Regrets, of)
		}
		s.Ranks = append(s.Ranks, r)
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
const lowestDrawn = 1

// Figure draws the mean regrets, a panel for each table.
func (s *Standings) Figure() (*figure.Figure, error) {
	if len(s.Cells) == 0 {
		return nil, errors.New("nothing to plot")
	}
	f := &figure.Figure{
		Name: "tuners", Title: "Regret of the returned model against the budget",
		Note: fmt.Sprintf("validation error above the lowest of the table, 100 for the median configuration, %v for less; means of %s", lowestDrawn, oneline.Count(s.Seeds, "seed")),
	}
	for _, table := range s.Tables {
		panel := figure.Panel{Title: table.Name, X: figure.Axis{Label: "budget, trainings", Log: true}, Y: figure.Axis{Label: "regret, % of the median's", Log: true}}
		for i := range s.Cells {
			cell := &s.Cells[i]
			if cell.Table != table.Name {
				continue
			}
			line := figure.Line{Name: cell.Tuner}
			for _, r := range cell.Regrets {
				if r.Rounds == 0 {
					continue
				}
				line.Points = append(line.Points, figure.Point{X: float64(r.Trainings), Y: max(stat.Mean(r.Scaled, nil), lowestDrawn)})
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
