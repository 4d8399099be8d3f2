package recorded

import (
	"cmp"
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

// trainings are the budgets of a contest, in whole trainings of a table.
var trainings = [...]int{2, 4, 8, 16}

// Play plays all. A tuner that refuses a table's budget or space is left out there.
func (c Contest) Play(ctx context.Context) (*Standings, error) {
	s := &Standings{Seeds: c.Seeds, Sets: c.Sets}
	for _, t := range c.Tables {
		s.Tables = append(s.Tables, t.It.digest(t.Name))
	}
	if err := s.sameAs(c.Known); err != nil {
		return nil, err
	}
	for i, t := range c.Tables {
		if c.Known != nil {
			s.Cells = append(s.Cells, c.known(t.Name)...)
		}
		for _, tuner := range c.Tuners {
			if c.Tell != nil {
				c.Tell(fmt.Sprintf("%s: %s, %s", t.Name, tuner.Name, oneline.Count(c.Seeds, "seed")))
			}
			cell, err := c.cell(ctx, t, &s.Tables[i], tuner)
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
		other := func(r Regret) bool { return len(r.Scaled) != s.Seeds && r.Rounds > 0 }
		if len(cell.Regrets) != len(trainings) || slices.ContainsFunc(cell.Regrets, other) || seen[of] {
			return fmt.Errorf("the known results of %s on %s must be there once, with regrets of %s at %d budgets", cell.Tuner, cell.Table, oneline.Count(s.Seeds, "seed"), len(trainings))
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

// cell plays a tuner on a table with each budget, or the next smaller one that Table.Fit finds. Of
// the tuner proxy a budget pays for its search on another table, too, on each in turn by the seed.
func (c Contest) cell(ctx context.Context, t Named[*Table], about *Digest, tuner Named[tuners.Tuner]) (*Cell, error) {
	base, err := t.It.Study(c.Sets, nil, tuner.Name)
	if err != nil {
		return nil, err
	}
	proxies := tuner.Name == proxy.Name
	if proxies && len(c.sources(t, math.MaxInt)) == 0 {
		return nil, errors.New("no other table has the same space, for its search on other data")
	}
	cell := &Cell{Table: t.Name, Tuner: tuner.Name}
	for _, n := range trainings {
		base.Budget.Rounds = n * t.It.Rounds
		fitted := *base
		sources := c.sources(t, base.Budget.Rounds-t.It.Rounds)
		if err = t.It.Fit(ctx, &fitted, tuner.It); err != nil || proxies && len(sources) == 0 {
			cell.Regrets = append(cell.Regrets, Regret{Trainings: n})
			continue
		}
		regret := Regret{Trainings: n, Rounds: fitted.Budget.Rounds, Scaled: make([]float64, c.Seeds)}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(max(1, c.Workers))
		for seed := range c.Seeds {
			group.Go(func() error {
				g := study.Played{Config: fitted, Tuner: tuner.It, Curves: t.It.Player(uint64(seed)), Measure: t.It.Measure, Target: t.It.Target}
				g.Config.Seed = uint64(seed)
				if proxies {
					if err := c.search(ctx, sources[seed%len(sources)], &g); err != nil {
						return err
					}
				}
				r, err := g.Play(ctx)
				if err != nil && !errors.Is(err, study.ErrAllFailed) {
					return err
				}
				regret.Scaled[seed] = about.scaled(r)
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		cell.Regrets = append(cell.Regrets, regret)
	}
	return cell, err // of the largest budget
}

// sources are the other tables with the space and the target of one whose trainings have at most a number of
// rounds.
func (c Contest) sources(of Named[*Table], rounds int) []*Table {
	var out []*Table
	for _, t := range c.Tables {
		if t.It != of.It && t.It.Rounds <= rounds && t.It.Target == of.It.Target && reflect.DeepEqual(t.It.space, of.It.space) {
			out = append(out, t.It)
		}
	}
	return out
}

// search makes a random search on another table, by the seed of a game, whose tuner then knows
// the results: as many trainings as leave the budget one of the game's. Scores are of equal kind
// in all tables: errors, which are lower where they are better.
func (c Contest) search(ctx context.Context, on *Table, g *study.Played) error {
	base, err := on.Study(c.Sets, &g.Config.Seed, random.Tuner.About().Name)
	if err != nil {
		return err
	}
	base.Objective = tuners.MetricError
	n := min(len(on.Configurations), (g.Config.Budget.Rounds-g.Config.Budget.TrialRounds)/on.Rounds)
	base.Budget.Rounds, base.Budget.TrialRounds = n*on.Rounds, on.Rounds
	g.Config.Budget.Rounds -= base.Budget.Rounds
	g.Priors = []tuners.Prior{}
	searching := study.Played{Config: *base, Tuner: random.Tuner, Curves: on.Player(g.Config.Seed), Measure: on.Measure, Target: on.Target}
	found, err := searching.Play(ctx)
	if errors.Is(err, study.ErrAllFailed) {
		return nil
	}
	if err != nil {
		return err
	}
	worse := 1.0
	if g.Config.Aim().Direction == tuners.Maximize {
		worse = -1
	}
	for _, t := range found.Trials {
		if t.State == result.Completed {
			g.Priors = append(g.Priors, tuners.Prior{Params: t.Params, Round: t.Rounds, Whole: true, Values: map[string]float64{g.Config.Objective: worse * t.Score}})
		}
	}
	return nil
}

// digest describes a table for the regrets on it.
func (t *Table) digest(name string) Digest {
	d := Digest{Name: name, SHA256: t.SHA256, Lowest: math.Inf(1)}
	ends := make([]float64, len(t.Trained))
	for i := range t.Trained {
		for _, p := range t.Trained[i].Points {
			e := t.error(&t.Trained[i], p.Round)
			d.Lowest = min(d.Lowest, e)
			if !t.Numbers() || p.Round == 0 { // a regression's errors have no bound
				d.Highest = max(d.Highest, e)
			}
		}
		if ends[i] = math.Inf(1); t.Trained[i].Failed == "" {
			ends[i] = t.error(&t.Trained[i], t.Rounds)
		}
	}
	for i := range ends {
		if ends[i] = min(ends[i], d.Highest); math.IsNaN(ends[i]) {
			ends[i] = d.Highest
		}
	}
	slices.Sort(ends)
	d.Median = stat.Quantile(0.5, stat.LinInterp, ends, nil)
	return d
}

// scaled is the regret, rounded to 0.001, of the model that a study returned, nil for none, whose error
// is the highest.
func (d *Digest) scaled(r *result.Result) float64 {
	e := math.NaN()
	if r != nil {
		if val := cmp.Or(r.PersonalizedVal, r.GlobalVal); val != nil {
			e = *val
		}
	}
	if !(e < d.Highest) {
		e = d.Highest
	}
	return math.Round(1e5*(e-d.Lowest)/max(d.Median-d.Lowest, math.SmallestNonzeroFloat32)) / 1e3
}
