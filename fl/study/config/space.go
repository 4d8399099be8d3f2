package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// CheckSpace returns a *key.Error for the first dimension of the space that contains a
// value which is invalid for its hyperparameter or not used by the method. Other
// dimensions are accepted, since a client tuner may add them.
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
	if err := tuners.Space(dims).Check(); err != nil {
		name, problem, _ := strings.Cut(err.Error(), ": ")
		return &key.Error{Key: SpaceKey(name), Problem: ": " + problem}
	}
	if err := c.checkOnTheWay(dims); err != nil {
		return err
	}
	return CheckDims(dims, c.Hyper(), method)
}

// checkOnTheWay returns an error for a dimension of update.* or aggregator.* that the study's
// transforms or its aggregator do not use, or one of whose values they cannot have.
func (c *Config) checkOnTheWay(dims []tuners.Dim) error {
	for _, dim := range dims {
		p, ok := hyper.FindTunable(dim.Name)
		update := strings.HasPrefix(dim.Name, "update.")
		if !ok || !update && !strings.HasPrefix(dim.Name, "aggregator.") {
			continue
		}
		for _, v := range trials(dim) {
			h, err := c.Hyper().With(tuners.Params{dim.Name: v}, nil)
			if err == nil {
				err = p.Check(reflect.ValueOf(h))
			}
			if err != nil {
				return outside(dim, err)
			}
		}
		a, _ := c.Aggregator.Aggregator()
		problem := a.Ignores(dim.Name)
		if update {
			problem = c.Update.Ignores(dim.Name)
		}
		if problem != "" {
			return &key.Error{Key: SpaceKey(dim.Name), Problem: ": " + problem}
		}
	}
	return nil
}

// SpaceKey returns the key of a dimension of the space.
func SpaceKey(name string) string { return "space." + name }

// UnknownDim returns the error for a dimension that is no tunable hyperparameter. For another key of
// a study it says how values of it are compared.
func UnknownDim(name string) error {
	if !slices.ContainsFunc(Reference(), func(k KeyInfo) bool { return k.Key == name }) {
		return hyper.Unknown(name)
	}
	return fmt.Errorf("%s is not tunable; compare values of it by studies, one each, "+
		"as `fedfast tune --set %s=VALUE --study DIR`, and `fedfast study compare DIR...`", name, name)
}

// CheckDims checks the dimensions of hyperparameters over a base. Every range is one
// interval, single values, or both. So a continuous dimension with valid ends that
// contains invalid values contains some right next to an end; and ranges that depend on
// another hyperparameter are monotonic in it. It is therefore sufficient to try each
// dimension's ends and points between them while all others are at their minimum, and
// while they are at their maximum.
func CheckDims(dims []tuners.Dim, base hyper.Values, method fl.Method) error {
	tried := map[string][]tuners.Value{}
	least, greatest := tuners.Params{}, tuners.Params{}
	for _, dim := range dims {
		p, ok := hyper.FindTunable(dim.Name)
		if !ok {
			continue
		}
		if strings.HasPrefix(dim.Name, "time.") || strings.HasPrefix(dim.Name, "sampler.") {
			if problem := unused(p.Key, method.Name, &base.Time, base.Sampler.Kind); problem != "" {
				return &key.Error{Key: SpaceKey(dim.Name), Problem: ": " + problem}
			}
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
				for _, met := range meeting(dims, dim) {
					h, err := base.With(tuners.Space(dims).Active(others.Merge(met).Merge(tuners.Params{dim.Name: v})), nil)
					if err == nil {
						err = errors.Join(method.CheckParams(h.Client, h.Server), h.CheckTime())
					}
					if err != nil {
						return blame(dims, dim, err)
					}
				}
			}
		}
	}
	return nil
}

// meeting returns params with which a point has a dimension: one for each value that its
// condition lists.
func meeting(dims tuners.Space, dim tuners.Dim) []tuners.Params {
	if dim.When == nil {
		return []tuners.Params{nil}
	}
	var all []tuners.Params
	for _, v := range dim.When.Values {
		p := tuners.Params{dim.When.Parent: v}
		for d, ok := dims.Dim(dim.When.Parent); ok && d.When != nil; d, ok = dims.Dim(d.When.Parent) {
			p[d.When.Parent] = d.When.Values[0]
		}
		all = append(all, p)
	}
	return all
}

// trials returns the values of a dimension to try: all if there are few, otherwise the
// ends and some between; for a continuous dimension also the numbers next to its ends,
// and further ones at irregular fractions.
func trials(d tuners.Dim) []tuners.Value {
	if d.Kind == tuners.Choice {
		return d.Choices
	}
	if d.Whole() {
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

// compareValues orders numbers and treats everything else as equal.
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

// blame turns the error of a point of the space into an error about the dimension that it
// names, or that was varied. An error about a key outside of the space is kept.
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

// outside returns the error for a dimension with an invalid value.
func outside(d tuners.Dim, err error) error {
	_, value, _ := strings.Cut(d.String(), "{")
	return &key.Error{Key: SpaceKey(d.Name), Problem: fmt.Sprintf(" = %s: %v", clip("{"+value), err)}
}

// clip shortens input that is quoted in an error.
func clip(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
