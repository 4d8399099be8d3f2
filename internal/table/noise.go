package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/kernels"
)

// Noise is random search on a table, whose scores come from few clients or are private.
type Noise struct {
	Table *Table
	// Trials is how many configurations a search draws, none twice, 0 for 16 or, of a table
	// with fewer than 32, half of them. It takes the one with the best score after the last
	// round; a training that diverged has none.
	Trials int
	// Repeats is how many searches are made, by the draws of Seed.
	Repeats int
	Seed    uint64
	// Test has errors of the chosen on test samples reported in place of validation samples.
	Test bool
	// Workers is how many settings are computed at once.
	Workers int
}

// NoiseTable is what came of a Noise.
type NoiseTable struct {
	Configurations int    `json:"configurations"`
	Trials         int    `json:"trials"`
	Repeats        int    `json:"repeats"`
	Split          string `json:"split"`
	// Cells are by how scores are taken, then by the number of clients.
	Cells []NoiseCell `json:"cells"`
	// Exact is the cell of all clients that weigh by their samples, over all searches that there
	// are; nil of a table with several seeds.
	Exact *Quartiles `json:"exact,omitempty"`
}

// NoiseCell are the errors, on all clients, of the configurations that searches took.
type NoiseCell struct {
	// Clients is how many each score comes from, drawn anew for each.
	Clients int `json:"clients"`
	// Private says that clients weigh the same, also in the error, and that all scores of a
	// search together spend Epsilon, 0 for no noise; else they weigh by their numbers of samples.
	Private bool    `json:"private"`
	Epsilon float64 `json:"epsilon"`
	Quartiles
}

// Quartiles are those of errors.
type Quartiles struct {
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
}

// quartiles returns those of values with weights; nil weights are equal ones.
func quartiles(xs, weights []float64) Quartiles {
	stat.SortWeighted(xs, weights)
	q := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, xs, weights) }
	return Quartiles{Q1: q(0.25), Median: q(0.5), Q3: q(0.75)}
}

// epsilons are the privacies, 0 for none.
var epsilons = []float64{0, 100, 10, 1, 0.1}

// defaultTrials is the number of configurations that a search draws, as in noisy evaluation's
// paper (Kuo et al., MLSys 2023).
const defaultTrials = 16

// Run makes the searches. The same ones are made in all cells.
func (n Noise) Run(ctx context.Context) (*NoiseTable, error) {
	if n.Table.Numbers() {
		return nil, errors.New("the table is of a regression, whose error has no bound: no noise makes it private")
	}
	all := len(n.Table.Configurations)
	if n.Trials == 0 {
		n.Trials = max(1, min(defaultTrials, all/2))
	}
	if n.Trials > all {
		return nil, fmt.Errorf("--trials %d: the table has %s", n.Trials, oneline.Count(all, "configuration"))
	}
	val, test, central := n.Table.Samples()
	if n.Test && central == 0 && !slices.ContainsFunc(test, func(samples int) bool { return samples > 0 }) {
		return nil, errors.New("the table has no test samples; leave out --test")
	}
	total := len(slices.DeleteFunc(slices.Clone(val), func(samples int) bool { return samples == 0 }))
	if total == 0 {
		return nil, errors.New("the table has no client with validation samples")
	}
	out := &NoiseTable{Configurations: all, Trials: n.Trials, Repeats: n.Repeats, Split: "validation"}
	if n.Test {
		out.Split = "test"
	}
	for setting := range 1 + len(epsilons) {
		for k := 1; ; k *= 3 {
			cell := NoiseCell{Clients: min(k, total), Private: setting > 0}
			if cell.Private {
				cell.Epsilon = epsilons[setting-1]
			}
			out.Cells = append(out.Cells, cell)
			if k >= total {
				break
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, n.Workers))
	for i := range out.Cells {
		group.Go(func() error { return n.cell(ctx, &out.Cells[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(n.Table.Trained) == all {
		out.Exact = new(n.exact())
	}
	return out, nil
}

// cell makes the searches of a cell.
func (n Noise) cell(ctx context.Context, c *NoiseCell) error {
	val, _, _ := n.Table.Samples()
	options := fl.ScoreOptions{Clients: c.Clients, Uniform: c.Private, Epsilon: c.Epsilon / float64(n.Trials)}
	var taken []float64
	for repeat := range n.Repeats {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := kernels.Key(n.Seed, uint64(repeat))
		scores := fl.Recorded{Seed: key, Val: val}
		best, lowest := (*study.Recording)(nil), math.Inf(1)
		for _, i := range kernels.NewStream(key, 0).Perm(len(n.Table.Configurations))[:n.Trials] {
			r := n.Table.training(int(i), key, key) // of any seed
			if r.Diverged > 0 {
				continue
			}
			s := scores.Validate(r.At(n.Table.Rounds).Val, fl.EvalConfig{Noise: options, Trial: int(i), Round: n.Table.Rounds})
			if s.Error < lowest {
				best, lowest = r, s.Error
			}
		}
		taken = append(taken, n.error(best, n.Test, c.Private))
	}
	c.Quartiles = quartiles(taken, nil)
	return nil
}

// error is the error of the training that a search took, the worst if there was none.
func (n Noise) error(r *study.Recording, test, uniform bool) float64 {
	if r == nil || r.Diverged > 0 {
		return 1
	}
	p := r.At(n.Table.Rounds)
	val, tested, _ := n.Table.Samples()
	errs, samples := p.Val, val
	if test {
		errs, samples = p.Test, tested
	}
	if errs == nil {
		return p.Central
	}
	s := fl.Summarize(errs, samples, false)
	if uniform {
		return s.Unweighted
	}
	return s.Error
}

// exact returns the quartiles over all draws of trials: the configuration of rank i of N, from 0,
// or one before it is the best of n in all but C(N-1-i, n) of the C(N, n) draws.
func (n Noise) exact() Quartiles {
	pool := make([]*study.Recording, len(n.Table.Trained))
	for i := range pool {
		pool[i] = &n.Table.Trained[i]
	}
	slices.SortStableFunc(pool, func(a, b *study.Recording) int {
		return cmp.Compare(n.error(a, false, false), n.error(b, false, false))
	})
	var taken, shares []float64
	later := 1.0 // share of the draws whose best comes later
	for i, r := range pool {
		before := later
		later *= max(0, 1-float64(n.Trials)/float64(len(pool)-i))
		taken, shares = append(taken, n.error(r, n.Test, false)), append(shares, before-later)
	}
	return quartiles(taken, shares)
}

// Figure draws the quartiles without noise and the medians of private scores.
func (t *NoiseTable) Figure() (*figure.Figure, error) {
	x := figure.Axis{Label: "clients per score", Log: true}
	few := figure.Panel{Title: "Few clients", X: x, Y: figure.Axis{Label: t.Split + " error, %"}}
	private := figure.Panel{Title: "Private scores, median", X: x, Y: few.Y}
	add := func(p *figure.Panel, name string, c *NoiseCell, y float64) {
		at := slices.IndexFunc(p.Lines, func(l figure.Line) bool { return l.Name == name })
		if at < 0 {
			at = len(p.Lines)
			p.Lines = append(p.Lines, figure.Line{Name: name})
		}
		p.Lines[at].Points = append(p.Lines[at].Points, figure.Point{X: float64(c.Clients), Y: 100 * y})
	}
	for i := range t.Cells {
		c := &t.Cells[i]
		if c.Private {
			add(&private, c.Name(), c, c.Median)
			continue
		}
		add(&few, "upper quartile", c, c.Q3)
		add(&few, "median", c, c.Median)
		add(&few, "lower quartile", c, c.Q1)
	}
	return &figure.Figure{
		Name: "noise", Title: "Random search under noisy scores", Panels: []figure.Panel{few, private},
		Note: fmt.Sprintf("error, on all clients, of the configuration taken, the best by its score of %d of %d; %s", t.Trials, t.Configurations, oneline.Count(t.Repeats, "repeat")),
	}, nil
}

// Name says how scores are taken.
func (c *NoiseCell) Name() string {
	switch {
	case !c.Private:
		return "weighted"
	case c.Epsilon == 0:
		return "epsilon inf"
	}
	return fmt.Sprintf("epsilon %v", c.Epsilon)
}
