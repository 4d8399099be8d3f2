package models

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// LayerChoice stands instead of a layer's integer where sub-networks
// differ in it: what they choose among, the last of which the whole network has, or
// the name of a choice that stands further up, such as "conv1.filters", which then
// chooses here, too.
type LayerChoice struct {
	Choices []int
	As      string
}

// chosen are the keys that can have choices: where they differ, a layer's
// parameters are a part of those that the whole network has.
var chosen = []string{"filters", "units", "kernel", "groups", "depth"}

// String returns the choice as a study file writes it.
func (c LayerChoice) String() string {
	if c.As != "" {
		return fmt.Sprintf("{ as = %q }", c.As)
	}
	return "{ choices = " + strings.ReplaceAll(fmt.Sprint(c.Choices), " ", ", ") + " }"
}

// chooses reports whether layers have choices or a depth, or those of their
// branches.
func chooses(specs []LayerSpec) bool {
	return slices.ContainsFunc(specs, func(s LayerSpec) bool {
		return s.Optional || s.Depth > 1 || len(s.Choices) > 0 || chooses(s.Body) || chooses(s.Shortcut)
	})
}

// checkChoices reports the first choice that the layer cannot have.
func (s LayerSpec) checkChoices(t LayerType) error {
	for _, key := range slices.Sorted(maps.Keys(s.Choices)) {
		c := s.Choices[key]
		switch {
		case !slices.Contains(chosen, key) || !slices.Contains(t.Keys, key):
			can := list.Where(chosen, func(k string) bool { return slices.Contains(t.Keys, k) })
			return fmt.Errorf("%s = %v: of this type's keys %s can have choices", key, c, keyList(can))
		case c.As != "":
			continue
		case len(c.Choices) < 2 || !slices.IsSorted(c.Choices) || len(slices.Compact(slices.Clone(c.Choices))) < len(c.Choices):
			return fmt.Errorf("%s = %v: choices must be two or more integers in ascending order", key, c)
		case c.Choices[0] < 1 || int64(c.Choices[len(c.Choices)-1]) > most(key):
			return fmt.Errorf("%s = %v: they must be from 1 to %d", key, c, most(key))
		}
		if key != "kernel" {
			continue
		}
		if s.Padding != "same" {
			return fmt.Errorf("%s = %v: padding must be \"same\", so that images of all sub-networks have one size", key, c)
		}
		for _, n := range c.Choices {
			if (n-c.Choices[0])%2 != 0 {
				return fmt.Errorf("%s = %v: they must be all odd or all even: a smaller kernel is the middle of the largest", key, c)
			}
		}
	}
	return nil
}

// left is the choice of a layer that can be left out.
var left = LayerChoice{Choices: []int{0, 1}}

// choosing walks layers that were checked. It returns what is picked of a choice
// and what the whole network has.
type choosing func(name string, c LayerChoice) (picked, whole int, err error)

// layers returns those of a sub-network, without choices. Each layer of a chain
// gets the name that it has in the whole network; in names of choices a prefix is
// before it.
func (pick choosing) layers(key string, specs []LayerSpec, prefix string) ([]LayerSpec, error) {
	count, graph := map[string]int{}, branched(specs)
	var out []LayerSpec
	for i, s := range specs {
		at := fmt.Sprintf("%s[%d]", key, i+1)
		wrong := func(err error) error { return fmt.Errorf("%s (%s): %w", at, s.Type, err) }
		name := s.Name
		switch _, deep := s.Choices["depth"]; {
		case !graph:
			name = cmp.Or(name, fmt.Sprintf("%s%d", s.Type, count[s.Type]+1))
		case name == "" && chooses(specs[i:i+1]):
			return nil, wrong(errors.New("a layer with choices in a graph must have a name"))
		case s.Optional || deep || s.Depth > 1:
			return nil, wrong(errors.New("optional and depth are for layers one after the other, not for those of a graph"))
		}
		own := prefix + name + "."
		l, depth, whole, err := pick.numbers(s, own)
		if err != nil {
			return nil, wrong(err)
		}
		if l.Body, err = pick.layers(at+".body", s.Body, own); err != nil {
			return nil, err
		}
		if l.Shortcut, err = pick.layers(at+".shortcut", s.Shortcut, own+"shortcut."); err != nil {
			return nil, err
		}
		for k := range whole {
			count[s.Type]++
			switch {
			case graph:
			case k == 0:
				l.Name = name
			case s.Name == "":
				l.Name = fmt.Sprintf("%s%d", s.Type, count[s.Type])
			default:
				l.Name = fmt.Sprintf("%s_%d", name, k+1)
			}
			if k < depth {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// numbers returns a layer with what is picked of its own choices, whose names begin
// with a prefix, how many of it there are, and how many in the whole network.
func (pick choosing) numbers(s LayerSpec, prefix string) (l LayerSpec, depth, whole int, err error) {
	l, whole = s, max(1, s.Depth)
	depth, l.Choices, l.Optional, l.Depth = whole, nil, false, 0
	v := reflect.ValueOf(&l).Elem()
	for _, key := range chosen {
		c, ok := s.Choices[key]
		if !ok {
			continue
		}
		n, most, err := pick(prefix+key, c)
		if err != nil {
			return l, 0, 0, fmt.Errorf("%s = %v: %w", key, c, err)
		}
		if key == "depth" {
			depth, whole = n, most
			continue
		}
		for i := range v.NumField() {
			if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ","); name == key {
				v.Field(i).SetInt(int64(n))
			}
		}
	}
	if s.Optional {
		n, _, err := pick(prefix+"on", left)
		if err != nil {
			return l, 0, 0, err
		}
		depth *= n
	}
	return l, depth, whole, nil
}

// choicesOf returns the choices of layers that were checked, and where those are
// that another one chooses for.
func choicesOf(specs []LayerSpec) (choices []nn.Choice, as map[string]string, err error) {
	as = map[string]string{}
	_, err = choosing(func(name string, c LayerChoice) (int, int, error) {
		if c.As == "" {
			choices = append(choices, nn.Choice{Name: name, Options: c.Choices})
			n := c.Choices[len(c.Choices)-1]
			return n, n, nil
		}
		i := slices.IndexFunc(choices, func(o nn.Choice) bool { return o.Name == c.As })
		if i < 0 {
			above := list.Of(choices, func(o nn.Choice) string { return o.Name })
			return 0, 0, fmt.Errorf("no layer above has this choice; available: %s", cmp.Or(strings.Join(above, ", "), "none"))
		}
		n := choices[i].Options[len(choices[i].Options)-1]
		as[name] = c.As
		return n, n, nil
	}).layers("model.layers", specs, "")
	return choices, as, err
}

// supernet builds the network of specs, which were checked and have choices.
func supernet(specs []LayerSpec, input nn.Shape, classes int) (*nn.Model, error) {
	choices, as, err := choicesOf(specs)
	if err != nil {
		return nil, err
	}
	whole := map[string]int{}
	for _, c := range choices {
		whole[c.Name] = c.Options[len(c.Options)-1]
	}
	m, err := nn.NewSupernet("layers", input, classes, choices, func(of func(name string) int) []nn.Layer {
		picked, err := choosing(func(name string, _ LayerChoice) (int, int, error) {
			name = cmp.Or(as[name], name)
			return of(name), whole[name], nil
		}).layers("model.layers", specs, "")
		if err != nil {
			panic("models: layers were checked and are wrong: " + err.Error())
		}
		return chain(picked)
	})
	if err != nil {
		return nil, err
	}
	return m, checkParts(m)
}

// checkParts returns an error for a choice that, made by itself, gives no part of
// the whole network, or for the least network if that is not possible.
func checkParts(m *nn.Model) error {
	places, least := m.Places(), map[string]int{}
	const mixed = ".in_proj_weight" // of queries, keys and values, of which a part of the rows would be another one
	rows := map[string]int{}
	places.Each(func(name string, shape []int, _ []int32) { rows[name] = shape[0] })
	check := func(p map[string]int, what string) error {
		sub, err := m.Sub(p)
		if err == nil {
			_, err = places.Of(sub)
		}
		if err == nil {
			sub.Places().Each(func(name string, shape []int, _ []int32) {
				if strings.HasSuffix(name, mixed) && rows[name] != shape[0] {
					err = fmt.Errorf("%s has other rows: attention can have no choice of the width that it reads", name)
				}
			})
		}
		if err != nil {
			return fmt.Errorf("model.layers with %s: %w", what, err)
		}
		return nil
	}
	for _, c := range m.Choices() {
		least[c.Name] = c.Options[0]
		for _, n := range c.Options[:len(c.Options)-1] {
			if err := check(map[string]int{c.Name: n}, fmt.Sprintf("%s = %d", c.Name, n)); err != nil {
				return err
			}
		}
	}
	return check(least, "the least of all choices")
}
