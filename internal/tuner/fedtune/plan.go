package fedtune

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// maxPoints bounds the list of points: each proposal looks at all of them.
const maxPoints = 100_000

// plan is what the options say.
type plan struct {
	his, samples                 []float64
	rates, batches, epochs       []float64
	clients, rounds              int
	scale                        float64 // of a proxy federation's rounds and samples
	search                       string
	initial, patience, proposals int           // 0 of the last two is no limit
	mixed                        bool          // all cells on one proxy federation
	choices                      int           // with mixed, points of a cell beside the best for all
	table                        []tuners.Cell // given: nothing is searched
}

func readPlan(r *options.Reader, _ tuners.ValidateRequest) plan {
	whole := func(x float64) bool { return x >= 1 && x == math.Trunc(x) && x <= 1e6 }
	p := plan{
		his:     numbers(r, "hi", "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 }),
		samples: numbers(r, "samples", "positive integers", whole),
		batches: numbers(r, "batches", "positive integers", whole),
		epochs:  numbers(r, "epochs", "greater than 0", func(x float64) bool { return x > 0 && x <= 1e4 }),
		clients: r.Whole("clients", 1, 10_000), rounds: r.Whole("rounds", 1, 1_000_000),
		scale:   r.Real("scale", "greater than 0 and at most 1", func(x float64) bool { return x > 0 && x <= 1 }),
		search:  r.OneOf("search", Bayes, Random, Grid),
		initial: r.Whole("init", 1, 1000), patience: r.Whole("patience", 0, 1000), proposals: r.Whole("proposals", 0, maxPoints),
		mixed: r.Truth("mixed"), choices: r.Whole("choices", 1, 1000),
		table: readTable(r),
	}
	positive := func(x float64) bool { return x > 0 && x <= 1e6 }
	lo, hi, step := r.Real("lr_min", "greater than 0", positive), r.Real("lr_max", "greater than 0", positive), r.Real("lr_step", "greater than 0", positive)
	switch n := math.Floor(float64((hi-lo)/step)+1e-9) + 1; {
	case hi < lo:
		r.Problem("options.lr_max", "lr_max must be at least lr_min (%v), not %v", lo, hi)
	case float64(n*float64(len(p.batches)*len(p.epochs))) > maxPoints:
		r.Problem("options.lr_step", "lr_step = %v gives more than %d points; use a larger step", step, maxPoints)
	default:
		for i := range int(n) {
			// Steps are decimal fractions, so are their multiples: 0.002 + 2 *
			// 0.002 is 0.006 to the last bit.
			p.rates = append(p.rates, math.Round(float64((lo+float64(float64(i)*step))*1e9))/1e9)
		}
	}
	return p
}

// numbers reads a list of different numbers, "1, 2, 3".
func numbers(r *options.Reader, name, want string, ok func(float64) bool) []float64 {
	var out []float64
	for text := range strings.SplitSeq(r.Text(name), ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !ok(x) {
			r.Problem("options."+name, "%s must be numbers %s, separated by commas, not %q", name, want, r.Text(name))
			return nil
		}
		if slices.Contains(out, x) {
			r.Problem("options."+name, "%s contains %v twice", name, x)
			return nil
		}
		out = append(out, x)
	}
	return out
}

// points returns how many points a cell has.
func (p plan) points() int { return len(p.rates) * len(p.batches) * len(p.epochs) }

// params returns the point of an index; the learning rate changes slowest, the
// epochs fastest.
func (p plan) params(index int) tuners.Params {
	e, b := len(p.epochs), len(p.batches)
	return tuners.Params{lr: tuners.Num(p.rates[index/e/b]), size: tuners.Num(p.batches[index/e%b]), epochs: tuners.Num(p.epochs[index%e])}
}

// features returns the point of an index as the model sees it: log10 of the rate,
// log2 of the batch and the epochs, each scaled to [0, 1].
func (p plan) features(index int) []float64 {
	at := p.params(index)
	return []float64{
		unit(det.Log10(at.Float(lr, 0)), det.Log10(p.rates[0]), det.Log10(p.rates[len(p.rates)-1])),
		unit(det.Log(at.Float(size, 0)), det.Log(slices.Min(p.batches)), det.Log(slices.Max(p.batches))),
		unit(at.Float(epochs, 0), slices.Min(p.epochs), slices.Max(p.epochs)),
	}
}

// unit maps x from [lo, hi] to [0, 1].
func unit(x, lo, hi float64) float64 {
	if hi == lo {
		return 0
	}
	return (x - lo) / (hi - lo)
}

// shrink scales a number of rounds or samples, to 1 at least.
func (p plan) shrink(n float64) int { return max(1, int(math.Round(float64(n*p.scale)))) }

// cells returns how many cells the table has. Cell i has heterogeneity index his[i
// / len(samples)] and samples[i % len(samples)].
func (p plan) cells() int { return len(p.his) * len(p.samples) }

// keys returns what a client of a cell is like.
func (p plan) keys(cell int) (hi, samples float64) {
	return p.his[cell/len(p.samples)], p.samples[cell%len(p.samples)]
}

// cell returns a cell of the table that holds a point.
func (p plan) cell(cell, point int) tuners.Cell {
	hi, samples := p.keys(cell)
	return tuners.Cell{Keys: map[string]float64{tuners.KeyHI: hi, tuners.KeySamples: samples}, Params: p.params(point)}
}

// environment returns the proxy federation of a cell, or the mixed one of all.
func (p plan) environment(seed uint64, cell int) tuners.Environment {
	if p.mixed {
		return tuners.Environment{
			Kind: tuners.Proxy, Clients: p.cells(), Cohort: p.cells(),
			Seed: tuners.NewDraws(seed, 0, 0, "fedtune-hrt cells").Uint64(),
		}
	}
	hi, samples := p.keys(cell)
	return tuners.Environment{
		Kind: tuners.Proxy, HI: hi, Samples: p.shrink(samples), Clients: p.clients, Cohort: p.clients,
		Seed: tuners.NewDraws(seed, cell, 0, "fedtune-hrt cell").Uint64(),
	}
}

// work returns how much is trained on proxy federations before the first trial, and
// with what points: every batch with every number of epochs, or the cells of a
// table that is given. Its trials are the trials of all cells together, the most there
// can be under a cap (the option proposals); without one a cell is taken to need as
// many proposals as twice the option patience.
func (p plan) work() tuners.Work {
	w := tuners.Work{Rounds: p.shrink(float64(p.rounds)), Clients: p.clients}
	for _, n := range p.samples {
		w.Examples += float64(p.shrink(n)) / float64(len(p.samples))
	}
	if p.table != nil {
		for _, c := range p.table {
			w.Points = append(w.Points, tuners.Params{size: c.Params[size], epochs: c.Params[epochs]})
		}
		return w
	}
	w.Trials = p.cells() * p.trials()
	if p.mixed {
		w.Clients, w.Trials = p.cells(), p.trials()+p.cells()*min(p.choices, p.trials()-1)
	}
	for _, b := range p.batches {
		for _, e := range p.epochs {
			w.Points = append(w.Points, tuners.Params{size: tuners.Num(b), epochs: tuners.Num(e)})
		}
	}
	return w
}

// trials returns how many trials a cell runs.
func (p plan) trials() int {
	first := min(p.initial, p.points())
	switch {
	case p.proposals > 0:
		return min(first+p.proposals, p.points())
	case p.search == Grid || p.patience == 0:
		return p.points()
	}
	return min(first+2*p.patience, p.points())
}
