package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// CheckSpace returns an error for the first dimension of the space that can be
// drawn as a value that its hyperparameter cannot have or the method does not
// use, a *key.Error. Dimensions that no hyperparameter has pass: a client tuner
// may add them.
func (c *Config) CheckSpace() error {
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return err
	}
	var dims []tuners.Dim
	for _, name := range slices.Sorted(maps.Keys(c.Space)) {
		dim, err := tuners.ParseDim(name, c.Space[name])
		if err != nil {
			return &key.Error{Key: SpaceKey(name), Problem: ": " + strings.TrimPrefix(err.Error(), name+": ")}
		}
		dims = append(dims, dim)
	}
	return CheckDims(dims, c.Hyper(), method)
}

// SpaceKey is the key of a dimension of the space.
func SpaceKey(name string) string { return "space." + name }

// CheckDims checks the dimensions of hyperparameters over a base. Every range is
// one interval, single values, or both, so a continuous dimension whose ends lie
// inside and that leaves it does so right beside an end; and those that depend on
// another hyperparameter grow or shrink with it. So it is enough to try each
// dimension's ends and points between while all others are at their least, and
// while they are at their greatest.
func CheckDims(dims []tuners.Dim, base hyper.Values, method fl.Method) error {
	tried := map[string][]tuners.Value{}
	least, greatest := tuners.Params{}, tuners.Params{}
	for _, dim := range dims {
		p, ok := hyper.FindTunable(dim.Name)
		if !ok {
			continue
		}
		values := trials(dim)
		for _, v := range values {
			if err := p.Set(&hyper.Values{}, v.Any()); err != nil {
				return outside(dim, err)
			}
		}
		tried[dim.Name] = values
		least[dim.Name], greatest[dim.Name] = slices.MinFunc(values, compareValues), slices.MaxFunc(values, compareValues)
	}
	for _, others := range []tuners.Params{least, greatest} {
		for _, dim := range dims {
			for _, v := range tried[dim.Name] {
				h, err := base.With(others.Merge(tuners.Params{dim.Name: v}), nil)
				if err == nil {
					err = method.CheckParams(h.Client, h.Server)
				}
				if err != nil {
					return blame(dims, dim, err)
				}
			}
		}
	}
	return nil
}

// trials returns the values of a dimension that are tried: all where there are
// few, else the ends and some between; of a continuous one the numbers next to its
// ends, and further ones that are no round shares of the way.
func trials(d tuners.Dim) []tuners.Value {
	if d.Kind == tuners.Choice {
		return d.Choices
	}
	if whole := d.Kind == tuners.Int || d.Kind == tuners.Log2; whole {
		var values []tuners.Value
		for s := d.Lo; s < d.Hi; s += max(1, math.Floor((d.Hi-d.Lo)/64)) {
			values = append(values, d.Value(s))
		}
		return append(values, d.Value(d.Hi))
	}
	lo, _ := d.Value(d.Lo).Float()
	hi, _ := d.Value(d.Hi).Float()
	values := []tuners.Value{tuners.Num(lo), tuners.Num(hi), tuners.Num(math.Nextafter(lo, hi)), tuners.Num(math.Nextafter(hi, lo))}
	for _, share := range []float64{0.1234567, 0.3819661, 0.5, 0.6180339, 0.8765432} {
		values = append(values, tuners.Num(lo+float64(share*(hi-lo))))
	}
	return values
}

// compareValues orders numbers, and takes all else as equal.
func compareValues(a, b tuners.Value) int {
	x, isNumber := a.Float()
	y, both := b.Float()
	switch {
	case !isNumber || !both || x == y:
		return 0
	case x < y:
		return -1
	}
	return 1
}

// blame turns the error of a point of the space into one about the dimension that
// it names, or that was moved; one about a key outside of the space stays.
func blame(dims []tuners.Dim, moved tuners.Dim, err error) error {
	named, ok := errors.AsType[*key.Error](err)
	if !ok {
		return outside(moved, err)
	}
	for _, dim := range dims {
		if dim.Name == named.Key {
			return outside(dim, err)
		}
	}
	return err
}

// outside is the error for a dimension of which some value cannot be used.
func outside(d tuners.Dim, err error) error {
	_, value, _ := strings.Cut(d.String(), "{")
	return &key.Error{Key: SpaceKey(d.Name), Problem: fmt.Sprintf(" = %s: %v", clip("{"+value), err)}
}

// clip shortens what an error repeats of its input.
func clip(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
