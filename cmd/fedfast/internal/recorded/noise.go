package recorded

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
	"github.com/fedfast/fedfast/kernels/det"
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
	// Proxies are tables with the same configurations, of other data: a search on one of them,
	// without noise, takes the configuration whose error here counts.
	Proxies []Named[*Table]
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
	// Proxies are the errors here of what searches on other tables take.
	Proxies []ProxyCell `json:"proxies,omitempty"`
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
	// Bias has clients drawn by (1.0001 - error)^Bias, their error under the configuration; 0 draws
	// all alike.
	Bias float64 `json:"bias,omitempty"`
	// Shuffled is the share of all validation samples that are dealt to clients anew before each
	// score. Which samples are classified wrongly is not recorded, only how many of each client:
	// the wrong ones are drawn.
	Shuffled float64 `json:"shuffled,omitempty"`
	Quartiles
}

// ProxyCell are the errors, on all clients of this table, of what searches on another one take.
type ProxyCell struct {
	Table string `json:"table"`
	Quartiles
}

// Quartiles are the quartiles of errors.
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

// settings are how scores are taken; epsilon is 0 for none.
var settings = []NoiseCell{
	{},
	{Private: true},
	{Private: true, Epsilon: 100},
	{Private: true, Epsilon: 10},
	{Private: true, Epsilon: 1},
	{Private: true, Epsilon: 0.1},
	{Bias: 1},
	{Bias: 1.5},
	{Bias: 3},
	{Shuffled: 0.5},
	{Shuffled: 1},
}

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
	for _, cell := range settings {
		for k := 1; ; k *= 3 {
			cell.Clients = min(k, total)
			out.Cells = append(out.Cells, cell)
			if k >= total {
				break
			}
		}
	}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(max(1, n.Workers))
	for i := range out.Cells {
		group.Go(func() error { return n.cell(working, &out.Cells[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, proxy := range n.Proxies {
		cell, err := n.proxy(ctx, proxy)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", proxy.Name, err)
		}
		out.Proxies = append(out.Proxies, cell)
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
			errs := r.At(n.Table.Rounds).Val
			var score float64
			if c.Bias > 0 || c.Shuffled > 0 {
				score = c.drawn(errs, val, kernels.NewStream(kernels.Key(key, uint64(i)), 1))
			} else {
				score = scores.Validate(errs, fl.EvalConfig{Noise: options, Trial: int(i), Round: n.Table.Rounds}).Error
			}
			if score < lowest {
				best, lowest = r, score
			}
		}
		taken = append(taken, n.error(best, n.Test, c.Private))
	}
	c.Quartiles = quartiles(taken, nil)
	return nil
}

// proxy searches another table.
func (n Noise) proxy(ctx context.Context, on Named[*Table]) (ProxyCell, error) {
	other := Noise{Table: on.It, Trials: n.Trials}
	at := make([]int, len(on.It.Configurations)) // of its configurations, here
	for i, p := range on.It.Configurations {
		if at[i] = slices.IndexFunc(n.Table.Configurations, p.Equal); at[i] < 0 {
			return ProxyCell{}, fmt.Errorf("its configuration %d is not in this table: record both with the same space", i)
		}
	}
	if n.Trials > len(at) {
		return ProxyCell{}, fmt.Errorf("--trials %d: the table has %s", n.Trials, oneline.Count(len(at), "configuration"))
	}
	var taken []float64
	for repeat := range n.Repeats {
		if err := ctx.Err(); err != nil {
			return ProxyCell{}, err
		}
		key := kernels.Key(n.Seed, uint64(repeat))
		best, lowest := (*study.Recording)(nil), math.Inf(1)
		for _, i := range kernels.NewStream(key, 0).Perm(len(at))[:n.Trials] {
			r := on.It.training(int(i), key, key)
			if r.Diverged > 0 {
				continue
			}
			if e := other.error(r, false, false); e < lowest {
				best, lowest = n.Table.training(at[i], key, key), e
			}
		}
		taken = append(taken, n.error(best, n.Test, false))
	}
	return ProxyCell{on.Name, quartiles(taken, nil)}, nil
}

// drawn is the score of a biased draw of clients, or after samples were dealt anew.
func (c *NoiseCell) drawn(errs []float64, samples []int, s *kernels.Stream) float64 {
	errs = slices.Clone(errs)
	if c.Shuffled > 0 {
		deal(errs, samples, c.Shuffled, s)
	}
	type client struct {
		id   int
		time float64 // at which it comes, exponential by its weight: the first ones are drawn
	}
	var clients []client
	for i, n := range samples {
		if n > 0 {
			weight := det.Exp(float64(c.Bias * det.Log(1.0001-errs[i])))
			clients = append(clients, client{i, -det.Log(1-s.Float64()) / weight})
		}
	}
	slices.SortFunc(clients, func(a, b client) int { return cmp.Compare(a.time, b.time) })
	wrong, of := 0.0, 0.0
	for _, d := range clients[:c.Clients] {
		wrong, of = wrong+errs[d.id]*float64(samples[d.id]), of+float64(samples[d.id])
	}
	return wrong / of
}

// deal takes a share of the samples of each client at random and deals them anew: errors become
// those on what each has then.
func deal(errs []float64, samples []int, share float64, s *kernels.Stream) {
	left, dealt := make([]int, len(samples)), make([]int, len(samples)) // wrong ones, places
	var pool []bool                                                     // which are wrong
	for i, n := range samples {
		wrong := int(math.Round(errs[i] * float64(n)))
		if n == 0 {
			continue
		}
		dealt[i] = int(math.Round(share * float64(n)))
		left[i] = wrong
		for _, k := range s.Perm(n)[:dealt[i]] {
			pool = append(pool, int(k) < wrong)
			if int(k) < wrong {
				left[i]--
			}
		}
	}
	order := s.Perm(len(pool))
	for i, n := range samples {
		for _, k := range order[:dealt[i]] {
			if pool[k] {
				left[i]++
			}
		}
		order = order[dealt[i]:]
		errs[i] = float64(left[i]) / float64(max(1, n))
	}
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
	drawn := figure.Panel{Title: "Biased clients, shuffled samples, median", X: x, Y: few.Y}
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
		if c.Bias > 0 || c.Shuffled > 0 {
			add(&drawn, c.Name(), c, c.Median)
			continue
		}
		add(&few, "upper quartile", c, c.Q3)
		add(&few, "median", c, c.Median)
		add(&few, "lower quartile", c, c.Q1)
	}
	return &figure.Figure{
		Name: "noise", Title: "Random search under noisy scores", Panels: []figure.Panel{few, private, drawn},
		Note: fmt.Sprintf("error, on all clients, of the configuration taken, the best by its score of %d of %d; %s", t.Trials, t.Configurations, oneline.Count(t.Repeats, "repeat")),
	}, nil
}

// Name says how scores are taken.
func (c *NoiseCell) Name() string {
	switch {
	case c.Bias > 0:
		return fmt.Sprintf("bias %v", c.Bias)
	case c.Shuffled > 0:
		return fmt.Sprintf("shuffled %v", c.Shuffled)
	case !c.Private:
		return "weighted"
	case c.Epsilon == 0:
		return "epsilon inf"
	}
	return fmt.Sprintf("epsilon %v", c.Epsilon)
}
