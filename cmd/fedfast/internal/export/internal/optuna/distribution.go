package optuna

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/tuners"
)

// distribution is one of Optuna's.
type distribution struct {
	Name       string         `json:"name"`
	Attributes map[string]any `json:"attributes"`
	choices    []tuners.Value
}

// text is the distribution as a log holds it.
func (d *distribution) text() (string, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

// internal is the number that Optuna keeps for a value: a choice's place among
// them.
func (d *distribution) internal(v tuners.Value) (float64, error) {
	if d.choices != nil {
		if i := slices.Index(d.choices, v); i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("%s is not one of the choices %v", v, d.choices)
	}
	x, ok := v.Float()
	if !ok {
		return 0, fmt.Errorf("%s is not a number", v)
	}
	return x, nil
}

// distributionOf returns the distribution of a dimension's values. Where Optuna has no
// such distribution, it is a wider one: integers for powers of two, and uniform for
// 1 - 10^s.
func distributionOf(d tuners.Dim) (*distribution, error) {
	if d.Kind == tuners.Choice {
		var choices []any
		for _, c := range d.Choices {
			choices = append(choices, c.Any())
		}
		return &distribution{Name: "CategoricalDistribution", Attributes: map[string]any{"choices": choices}, choices: d.Choices}, nil
	}
	lo, _ := d.Value(d.Lo).Float()
	hi, _ := d.Value(d.Hi).Float()
	lo, hi = min(lo, hi), max(lo, hi)
	attributes := func(log bool, step any) map[string]any {
		return map[string]any{"low": lo, "high": hi, "log": log, "step": step}
	}
	switch d.Kind {
	case tuners.Int:
		return &distribution{Name: "IntDistribution", Attributes: attributes(false, 1)}, nil
	case tuners.Log2:
		if lo >= 1 && hi <= 1<<53 {
			return &distribution{Name: "IntDistribution", Attributes: attributes(true, 1)}, nil
		}
		return &distribution{Name: "FloatDistribution", Attributes: attributes(true, nil)}, nil
	case tuners.Log10:
		return &distribution{Name: "FloatDistribution", Attributes: attributes(true, nil)}, nil
	case tuners.Uniform, tuners.Log10OneMinus:
		return &distribution{Name: "FloatDistribution", Attributes: attributes(false, nil)}, nil
	case tuners.Choice:
	}
	return nil, fmt.Errorf("%s: Optuna has no distribution for %q", d.Name, d.Kind)
}

// dimensions are the dimensions of what the trials set. adds are those that a client tuner
// adds to the study's space; the record does not hold them. One that is not known,
// or holds not all that was drawn, is made of the values.
func dimensions(o *view.Overview, adds []tuners.Dim) (tuners.Space, error) {
	known, err := tuners.ParseSpace(o.Config.Space)
	if err != nil {
		return nil, err
	}
	if known, err = known.With(adds...); err != nil {
		return nil, err
	}
	drawn := map[string][]tuners.Value{}
	for i := range o.Suggested() {
		for name, v := range o.Trials[i].Params {
			drawn[name] = append(drawn[name], v)
		}
	}
	var space tuners.Space
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		dim, ok := known.Dim(name)
		if !ok || slices.ContainsFunc(drawn[name], func(v tuners.Value) bool { return dim.Contains(v) != nil }) {
			dim = around(name, drawn[name])
		}
		space = append(space, dim)
	}
	return space, nil
}

// around is a dimension that holds exactly the values: an interval of numbers, or
// a choice.
func around(name string, values []tuners.Value) tuners.Dim {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		x, ok := v.Float()
		if !ok {
			return choice(name, values)
		}
		lo, hi = min(lo, x), max(hi, x)
	}
	return tuners.Dim{Name: name, Kind: tuners.Uniform, Lo: lo, Hi: hi}
}

// choice is a choice of the values, in the order in which they first come.
func choice(name string, values []tuners.Value) tuners.Dim {
	d := tuners.Dim{Name: name, Kind: tuners.Choice}
	for _, v := range values {
		if !slices.Contains(d.Choices, v) {
			d.Choices = append(d.Choices, v)
		}
	}
	return d
}
