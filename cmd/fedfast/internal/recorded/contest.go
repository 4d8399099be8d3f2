package recorded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/tuner/proxy"
	"github.com/fedfast/fedfast/internal/tuner/random"
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
	// Tell, unless it is nil, receives a line for each tuner and table that begins.
	Tell func(line string)
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
	for _, t := range c.Tables {
		if c.Known != nil {
			s.Cells = append(s.Cells, c.known(t.Name)...)
		}
		for _, tuner := range c.Tuners {
			if c.Tell != nil {
				c.Tell(fmt.Sprintf("%s: %s, %s", t.Name, tuner.Name, oneline.Count(c.Seeds, "seed")))
			}
			cell, err := c.cell(ctx, t, tuner)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				s.LeftOut = append(s.LeftOut, fmt.Sprintf("%s on %s: %s", tuner.Name, t.Name, oneline.Of(err.Error())))
				continue
			}
			s.Cells = append(s.Cells, *cell)
		}
	}
	if len(s.Cells) == 0 {
		return nil, fmt.Errorf("no tuner plays on any table: %s", s.LeftOut[0])
	}
	s.rank()
	return s, nil
}

// sameAs returns an error unless the results known, which may be nil, are of the same tables,
// seeds and sets.
func (s *Standings) sameAs(known *Standings) error {
	switch {
	case known == nil:
		return nil
	case !slices.Equal(known.Tables, s.Tables):
		return errors.New("the known results are of other tables")
	case known.Seeds != s.Seeds || !slices.Equal(known.Sets, s.Sets):
		return fmt.Errorf("the known results are of %s with --set %q, these of %s with %q", oneline.Count(known.Seeds, "seed"), known.Sets, oneline.Count(s.Seeds, "seed"), s.Sets)
	}
	seen := map[[2]string]bool{}
	for _, cell := range known.Cells {
		of := [2]string{cell.Table, cell.Tuner}
		if len(cell.Final) != s.Seeds || len(cell.Curve) != curvePoints || seen[of] {
			return fmt.Errorf("the known results of %s on %s must be there once, of %s at %d parts of the budget", cell.Tuner, cell.Table, oneline.Count(s.Seeds, "seed"), curvePoints)
		}
		seen[of] = true
	}
	return nil
}

// known returns the known cells of a table, without those of tuners that play again.
func (c Contest) known(table string) []Cell {
	return slices.DeleteFunc(slices.Clone(c.Known.Cells), func(cell Cell) bool {
		return cell.Table != table || slices.ContainsFunc(c.Tuners, func(t Named[tuners.Tuner]) bool { return t.Name == cell.Tuner })
	})
}

// cell plays a tuner on a table, with half the rounds that the table has of a seed or those that
// Table.Fit finds. The regret of a regression is a share of the lowest error. Of the tuner proxy
// these rounds pay for its search on another table, too, on each in turn by the seed.
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
	sources := c.sources(t)
	if tuner.Name == proxy.Name && len(sources) == 0 {
		return nil, errors.New("no other table has the same space, for its search on other data")
	}
	regrets := make([][]float64, c.Seeds)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, c.Workers))
	for seed := range c.Seeds {
		group.Go(func() (err error) {
			g := game{Played: study.Played{Config: *base, Tuner: tuner.It, Curves: t.It.Player(uint64(seed)), Measure: t.It.Measure, Target: t.It.Target}}
			g.Config.Seed = uint64(seed)
			if tuner.Name == proxy.Name {
				if err := c.search(ctx, sources[seed%len(sources)], &g); err != nil {
					return err
				}
			}
			regrets[seed], err = g.play(ctx, parts, worst-lowest, lowest)
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
		slices.Sort(at)
		q := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, at, nil) }
		cell.Curve = append(cell.Curve, Regret{parts[k], q(0.25), q(0.5), q(0.75)})
	}
	return cell, nil
}

// game is one study of a contest.
type game struct {
	study.Played
	// spent is how many rounds were spent on other tables.
	spent int
}

// play returns its regret after some numbers of rounds; before a trial has reported it is first.
func (g *game) play(ctx context.Context, after []int, first, lowest float64) ([]float64, error) {
	regret := make([]float64, len(after))
	for k := range regret {
		regret[k] = first
	}
	aim := g.Config.Aim()
	best := study.Step{Score: math.NaN()}
	g.Told = func(s study.Step) {
		if math.IsNaN(s.Score) || s.Round < best.Round || s.Round == best.Round && !aim.Better(s.Score, best.Score) {
			return
		}
		best = s
		for k := range regret {
			if after[k] >= g.spent+s.Spent {
				regret[k] = s.Val - lowest
			}
		}
	}
	_, err := g.Play(ctx)
	return regret, err
}

// sources are the other tables with the space and the target of one.
func (c Contest) sources(of Named[*Table]) []*Table {
	var out []*Table
	for _, t := range c.Tables {
		if t.It != of.It && t.It.Target == of.It.Target && reflect.DeepEqual(t.It.space, of.It.space) {
			out = append(out, t.It)
		}
	}
	return out
}

// search makes a random search on another table, by the seed of a game, whose tuner then knows
// the results: as many trainings as leave the budget one of the game's. Scores are of equal kind
// in all tables: errors, which are lower where they are better.
func (c Contest) search(ctx context.Context, on *Table, g *game) error {
	base, err := on.Study(c.Sets, &g.Config.Seed, random.Tuner.About.Name)
	if err != nil {
		return err
	}
	base.Objective = tuners.MetricError
	n := min(len(on.Configurations), (g.Config.Budget.Rounds-g.Config.Budget.TrialRounds)/on.Rounds)
	if n < 1 {
		return fmt.Errorf("%d rounds pay for no training of %d on another table", g.Config.Budget.Rounds, on.Rounds)
	}
	base.Budget.Rounds, base.Budget.TrialRounds = n*on.Rounds, on.Rounds
	found, err := study.Played{Config: *base, Tuner: random.Tuner, Curves: on.Player(g.Config.Seed), Measure: on.Measure, Target: on.Target}.Play(ctx)
	if err != nil {
		return err
	}
	worse := 1.0
	if g.Config.Aim().Direction == tuners.Maximize {
		worse = -1
	}
	g.Priors, g.spent = []tuners.Prior{}, found.Rounds
	for _, t := range found.Trials {
		if t.State == result.Completed {
			g.Priors = append(g.Priors, tuners.Prior{Params: t.Params, Round: t.Rounds, Whole: true, Values: map[string]float64{g.Config.Objective: worse * t.Score}})
		}
	}
	return nil
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
