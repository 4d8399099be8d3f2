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
	// Known are results of an equal contest, whose tuners are ranked with those that play; nil
	// for none.
	Known *Standings
	// Workers is how many studies are played at once.
	Workers int
}

// Named is something with a name.
type Named[T any] struct {
	Name string
	It   T
}

// curvePoints is at how many parts of a budget regret is taken.
const curvePoints = 20

// Play plays all. A tuner that refuses a table's budget or space is left out there.
func (c Contest) Play(ctx context.Context) (*Standings, error) {
	s := &Standings{Seeds: c.Seeds, Sets: c.Sets}
	for _, t := range c.Tables {
		s.Tables = append(s.Tables, Digest{t.Name, t.It.SHA256})
	}
	if err := s.sameAs(c.Known); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, t := range c.Tables {
		if c.Known != nil {
			s.Cells = append(s.Cells, c.known(t.Name, out)...)
		}
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

// sameAs returns an error unless the results known, which may be nil, are of the same tables,
// seeds and sets.
func (s *Standings) sameAs(known *Standings) error {
	switch {
	case known == nil:
	case !slices.Equal(known.Tables, s.Tables):
		return errors.New("the known results are of other tables")
	case known.Seeds != s.Seeds || !slices.Equal(known.Sets, s.Sets):
		return fmt.Errorf("the known results are of %s with --set %q, these of %s with %q", oneline.Count(known.Seeds, "seed"), known.Sets, oneline.Count(s.Seeds, "seed"), s.Sets)
	}
	return nil
}

// known returns the known cells of a table, without those of tuners that play again, and notes
// in out whose are missing.
func (c Contest) known(table string, out map[string]bool) []Cell {
	var cells []Cell
	for _, cell := range c.Known.Cells {
		again := slices.ContainsFunc(c.Tuners, func(t Named[tuners.Tuner]) bool { return t.Name == cell.Tuner })
		switch {
		case again:
		case cell.Table == table && len(cell.Final) == c.Seeds:
			cells = append(cells, cell)
		case !slices.ContainsFunc(c.Known.Ranks, func(r Rank) bool { return r.Tuner == cell.Tuner }):
			out[cell.Tuner] = true
		}
	}
	return cells
}

// cell plays a tuner on a table, with half the rounds that the table has of a seed or those that
// Table.Fit finds. The regret of a regression is a share of the lowest error.
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
	scale := 1.0
	if t.It.Numbers() && lowest > 0 {
		scale = lowest
	}
	regrets := make([][]float64, c.Seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.Workers))
	for seed := range c.Seeds {
		group.Go(func() (err error) {
			regrets[seed], err = play(ctx, t.It, tuner.It, *base, uint64(seed), parts, worst-lowest, lowest)
			for k := range regrets[seed] {
				regrets[seed][k] = min(regrets[seed][k], worst-lowest) / scale
			}
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
		cell.Final = slices.Clone(at)
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

// extremes returns the lowest and the highest validation error of the table; of a regression,
// whose errors have no bound, the highest is that before any training.
func (t *Table) extremes() (lowest, highest float64) {
	lowest, highest = math.Inf(1), 0
	for i := range t.Trained {
		for _, p := range t.Trained[i].Points {
			e := t.error(&t.Trained[i], p.Round)
			lowest = min(lowest, e)
			if !t.Numbers() || p.Round == 0 {
				highest = max(highest, e)
			}
		}
	}
	return lowest, highest
}
