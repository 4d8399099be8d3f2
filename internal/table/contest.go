package table

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Contest plays tuners on tables with many seeds.
type Contest struct {
	// Tables, by the names of their files, and Tuners, each with its default options.
	Tables []Named[*Table]
	Tuners []Named[tuners.Tuner]
	Seeds  int
	// Sets are assignments to the configuration of every study, as Table.Study takes them;
	// the total of the rounds is the contest's own.
	Sets []string
	// Workers is how many studies are played at once.
	Workers int
}

// Named is something with a name.
type Named[T any] struct {
	Name string
	It   T
}

// Standings are what came of a Contest.
type Standings struct {
	Tables []string `json:"tables"`
	Seeds  int      `json:"seeds"`
	// Cells are by table, then by tuner.
	Cells []Cell `json:"cells"`
	// Ranks are by tuner, the best mean first, over those that played on every table.
	Ranks []Rank `json:"ranks"`
	// LeftOut says why a tuner did not play on a table.
	LeftOut []string `json:"left_out,omitempty"`
}

// Cell is a tuner on a table: its regret is the validation error, on all clients, of the
// incumbent, less the lowest of the table. The incumbent is the trial that has run the furthest,
// of several the one with the best score that the tuner was told.
type Cell struct {
	Table string `json:"table"`
	Tuner string `json:"tuner"`
	// Rounds is the budget. Curve is the regret after parts of half the table's rounds.
	Rounds int      `json:"rounds"`
	Curve  []Regret `json:"regret"`

	final []float64 // by seed
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

// curvePoints is at how many parts of a budget regret is taken.
const curvePoints = 20

// Play plays all. A tuner that refuses a table's budget or space is left out there.
func (c Contest) Play(ctx context.Context) (*Standings, error) {
	s := &Standings{Seeds: c.Seeds}
	out := map[string]bool{}
	for _, t := range c.Tables {
		s.Tables = append(s.Tables, t.Name)
		for _, tuner := range c.Tuners {
			cell, err := c.cell(ctx, t, tuner)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				s.LeftOut = append(s.LeftOut, fmt.Sprintf("%s on %s: %s", tuner.Name, t.Name, oneline.Of(err.Error())))
				out[tuner.Name] = true
				continue
			}
			s.Cells = append(s.Cells, *cell)
		}
	}
	if len(s.Cells) == 0 {
		return nil, fmt.Errorf("no tuner plays on any table: %s", s.LeftOut[0])
	}
	s.rank(out)
	return s, nil
}

// cell plays a tuner on a table, with half the rounds that the table has of a seed or those that
// Table.Fit finds.
func (c Contest) cell(ctx context.Context, t Named[*Table], tuner Named[tuners.Tuner]) (*Cell, error) {
	base, err := t.It.Study(c.Sets, nil, tuner.Name)
	if err != nil {
		return nil, err
	}
	budget := (len(t.It.Configurations) + 1) / 2 * t.It.Rounds
	base.Budget.Rounds = budget
	if err := t.It.Fit(ctx, base, tuner.It); err != nil {
		return nil, err
	}
	lowest, worst := t.It.extremes()
	parts := make([]int, curvePoints)
	for k := range parts {
		parts[k] = budget * (k + 1) / curvePoints
	}
	regrets := make([][]float64, c.Seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.Workers))
	for seed := range c.Seeds {
		group.Go(func() (err error) {
			regrets[seed], err = play(ctx, t.It, tuner.It, *base, uint64(seed), parts, worst-lowest, lowest)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	cell := &Cell{Table: t.Name, Tuner: tuner.Name, Rounds: base.Budget.Rounds}
	for k := range curvePoints {
		at := make([]float64, c.Seeds)
		for seed := range at {
			at[seed] = regrets[seed][k]
		}
		cell.final = slices.Clone(at)
		cell.Curve = append(cell.Curve, Regret{parts[k], quartiles(at, nil)})
	}
	return cell, nil
}

// play plays one study and returns its regret after some numbers of rounds; before a trial has
// reported it is first.
func play(ctx context.Context, t *Table, tuner tuners.Tuner, c config.Config, seed uint64, after []int, first, lowest float64) ([]float64, error) {
	c.Seed = seed
	regret := make([]float64, len(after))
	for k := range regret {
		regret[k] = first
	}
	aim := c.Aim()
	best := study.Step{Score: math.NaN()}
	told := func(s study.Step) {
		if math.IsNaN(s.Score) || s.Round < best.Round || s.Round == best.Round && !aim.Better(s.Score, best.Score) {
			return
		}
		best = s
		for k := range regret {
			if after[k] >= s.Spent {
				regret[k] = s.Val - lowest
			}
		}
	}
	_, err := study.Played{Config: c, Tuner: tuner, Curves: t.Player(seed), Measure: t.Measure, Told: told}.Play(ctx)
	return regret, err
}

// extremes returns the lowest and the highest validation error of the table.
func (t *Table) extremes() (lowest, highest float64) {
	lowest, highest = math.Inf(1), 0
	for i := range t.Trained {
		for _, p := range t.Trained[i].Points {
			e := t.error(&t.Trained[i], p.Round)
			lowest, highest = min(lowest, e), max(highest, e)
		}
	}
	return lowest, highest
}

// rank fills in the ranks of the tuners that were not left out.
func (s *Standings) rank(out map[string]bool) {
	ranks, wins := map[string]map[int][]float64{}, map[string]float64{}
	for i, name := range s.Tables {
		var cells []*Cell
		for k := range s.Cells {
			if cell := &s.Cells[k]; cell.Table == name && !out[cell.Tuner] {
				cells = append(cells, cell)
			}
		}
		for seed := range s.Seeds {
			for _, cell := range cells {
				lower, same := 0, 0
				for _, other := range cells {
					switch {
					case other.final[seed] < cell.final[seed]:
						lower++
					case other.final[seed] == cell.final[seed]:
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
		Note: fmt.Sprintf("validation error, on all clients, of the incumbent less the lowest of the table; medians of %s", oneline.Count(s.Seeds, "seed")),
	}
	for _, name := range s.Tables {
		panel := figure.Panel{Title: name, X: figure.Axis{Label: "rounds", Whole: true}, Y: figure.Axis{Label: "regret, points", Zero: true}}
		for i := range s.Cells {
			cell := &s.Cells[i]
			if cell.Table != name {
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
