package report

import (
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/tuners"
)

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
