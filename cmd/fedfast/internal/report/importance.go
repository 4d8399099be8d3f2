package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// resamples is how often the intervals of importances draw the trials anew.
const resamples = 200

// drawing are the tuners whose points do not depend on any score.
var drawing = []string{"random", "grid", "sobol", "halving", "sha", "asha", "hyperband"}

// arm is a trial by its place, and its score at a rung.
type arm struct {
	trial int
	score float64
}

// arms are the trials of view.Overview.AtRung, the best first, and where the rung is. Of a tuner
// that learns from scores only the trials before them count: later ones are where it expected low
// errors.
func (s *Study) arms() (arms []arm, where string) {
	random, _ := strconv.ParseFloat(fmt.Sprint(s.Config.Tuner.Options["init"]), 64) // trials of tpe and bo
	scored := int64(math.MaxInt64)
	for _, t := range s.Trials {
		if len(t.Rungs) > 0 {
			scored = min(scored, t.Rungs[0].Seq)
		}
	}
	where, scores := s.AtRung(func(t *view.Trial) bool {
		return t.Source == nil && (slices.Contains(drawing, s.Config.Tuner.Name) || t.Seq <= scored || float64(t.Number) < random)
	})
	arms = append(arms, list.Of(slices.Sorted(maps.Keys(scores)), func(i int) arm { return arm{i, scores[i]} })...)
	slices.SortStableFunc(arms, func(a, b arm) int { return s.Config.Aim().Compare(a.score, b.score) })
	return arms, where
}

// weight is the importance of a param as a share, and its interval.
type weight struct {
	name               string
	value, least, most float64
	places             []float64 // of the arms
	names              int
	drawn              []float64 // values of the resamples
}

// importances are the importances of params for being among the best quarter of the arms, by PED-ANOVA
// (Watanabe, Bansal and Hutter 2023): the Pearson divergence of the best ones' density along each
// param from that of all, their sum being 1. The intervals are percentiles over bootstrap samples
// of the arms (Efron 1979), drawn in the same way each time. The highest comes first; there are
// none of fewer than view.LeastTrials trials.
func (s *Study) importances(arms []arm) (all []weight) {
	if len(arms) < view.LeastTrials {
		return nil
	}
	for _, d := range s.dims() {
		w := weight{name: d.name, names: len(d.names)}
		for _, a := range arms {
			if x := d.place(s.Trials[a.trial].Params); !math.IsNaN(x) {
				w.places = append(w.places, x)
			}
		}
		if len(w.places) == len(arms) { // else not every trial has it
			all = append(all, w)
		}
	}
	chosen := list.Made(len(arms), func(i int) int { return i })
	shares := func(add func(w *weight, x float64)) {
		sum, xs := 0.0, make([]float64, len(all))
		for k, w := range all {
			places := list.Of(chosen, func(from int) float64 { return w.places[from] })
			xs[k] = divergence(places[:(len(places)+3)/4], places, w.names)
			sum += xs[k]
		}
		for k := range all {
			add(&all[k], xs[k]/max(sum, math.SmallestNonzeroFloat64))
		}
	}
	shares(func(w *weight, x float64) { w.value = x })
	source := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same draws each time
	for range resamples {
		for i := range chosen {
			chosen[i] = source.IntN(len(arms))
		}
		slices.Sort(chosen) // the best first
		shares(func(w *weight, x float64) { w.drawn = append(w.drawn, x) })
	}
	for k := range all {
		w := &all[k]
		slices.Sort(w.drawn)
		tail := int(math.Round((1 - stats.Confidence) / 2 * resamples))
		w.least, w.most = min(w.value, w.drawn[tail]), max(w.value, w.drawn[resamples-1-tail])
	}
	slices.SortStableFunc(all, func(a, b weight) int { return cmp.Compare(b.value, a.value) })
	return all
}

// divergence returns the Pearson divergence of the density of some of the points from
// that of all of them. If names is 0, points are in [0, 1]; otherwise they are the
// indices, from 0, of that number of names.
func divergence(some, all []float64, names int) float64 {
	p, q := densities(some, names), densities(all, names)
	sum := 0.0
	for i := range p {
		sum += q[i] * (p[i]/q[i] - 1) * (p[i]/q[i] - 1)
	}
	return sum
}

// grid is at how many places a density is taken.
const grid = 50

// densities are the densities of points on a grid, or of names with one more than counted,
// with the sum 1.
func densities(xs []float64, names int) []float64 {
	p := make([]float64, max(names, 0))
	if names > 0 {
		for i := range p {
			p[i] = 1 / float64(names) // a prior of one
		}
		for _, x := range xs {
			p[int(x)]++
		}
	} else {
		var counts [grid]float64
		for _, x := range xs {
			counts[min(grid-1, int(grid*x))]++
		}
		p = slices.Repeat([]float64{1.0 / grid}, grid)
		width := bandwidth(xs)
		for j, n := range counts {
			if n == 0 {
				continue
			}
			x := (float64(j) + 0.5) / grid
			inside := 0.5 * (math.Erf((1-x)/(width*math.Sqrt2)) + math.Erf(x/(width*math.Sqrt2))) // of the kernel in [0, 1]
			for i := range p {
				z := (float64(i-j) / grid) / width
				p[i] += n * math.Exp(-z*z/2) / (math.Sqrt(2*math.Pi) * width * inside) / grid
			}
		}
	}
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// bandwidth is Scott's, at least a step of the grid.
func bandwidth(xs []float64) float64 {
	mean, square := 0.0, 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		square += (x - mean) * (x - mean) / float64(max(1, len(xs)-1))
	}
	return max(1.059*math.Sqrt(square)*math.Pow(float64(len(xs)), -0.2), 1.0/grid)
}

// dim is a param of trials as pictures lay it out.
type dim struct {
	name   string
	log    bool
	whole  bool
	names  []string // of a choice, which the numbers 0, 1, ... stand for
	lo, hi float64  // of the numbers of all trials
}

// dims are the params in which trials differ, in the order of their names.
func (s *Study) dims() []dim {
	values := map[string][]tuners.Value{}
	for i := range s.Trials {
		for _, key := range s.Trials[i].Params.Keys() {
			values[key] = append(values[key], s.Trials[i].Params[key])
		}
	}
	var all []dim
	for key, vs := range values {
		if slices.ContainsFunc(vs, func(v tuners.Value) bool { return v != vs[0] }) {
			all = append(all, s.dimOf(key, vs))
		}
	}
	slices.SortFunc(all, func(a, b dim) int { return strings.Compare(a.name, b.name) })
	return all
}

// dimOf lays out a param of which trials have these values.
func (s *Study) dimOf(key string, values []tuners.Value) dim {
	d := dim{name: key, lo: math.Inf(1), hi: math.Inf(-1)}
	known, ok := s.space.Dim(key)
	choice := ok && known.Kind == tuners.Choice
	d.whole = ok && known.Whole() && known.Kind != tuners.Uniform
	for _, v := range values {
		x, number := v.Float()
		choice = choice || !number
		d.lo, d.hi = min(d.lo, x), max(d.hi, x)
	}
	if choice {
		for _, v := range append(slices.Clone(known.Choices), values...) {
			if !slices.Contains(d.names, v.String()) {
				d.names = append(d.names, v.String())
			}
		}
		return d
	}
	d.log = d.lo > 0 && (ok && (known.Kind == tuners.Log10 || known.Kind == tuners.Log2) || !ok && d.hi/d.lo > 100)
	return d
}

// at is where a trial stands: a number, or that of a name; NaN without any.
func (d *dim) at(p tuners.Params) float64 {
	v, ok := p[d.name]
	if !ok {
		return math.NaN()
	}
	if d.names != nil {
		return float64(slices.Index(d.names, v.String()))
	}
	x, _ := v.Float()
	return x
}

// place is the same from 0 to 1 between the ends of all trials, or the number of a
// name.
func (d *dim) place(p tuners.Params) float64 {
	x := d.at(p)
	switch {
	case d.names != nil:
		return x
	case d.log:
		return math.Log(x/d.lo) / math.Log(d.hi/d.lo)
	}
	return (x - d.lo) / (d.hi - d.lo)
}

func (d *dim) axis() figure.Axis { return figure.Axis{Label: d.name, Log: d.log, Whole: d.whole} }
