package nn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Choice is something in which the sub-networks of a model differ: the width of a
// stage, its depth, the size of a kernel.
type Choice struct {
	Name string
	// Options are its values in ascending order; the whole network has the last one.
	Options []int
}

// space is what the sub-networks of a model are made from.
type space struct {
	choices []Choice
	layers  func(pick func(name string) int) []Layer
}

// NewSupernet returns the network that layers gives for the last option of every
// choice, from which Sub cuts others. Layers that stand for one another in two
// sub-networks must have the same name and, if they have parameters, a tensor that is
// the part of the whole network's which Places.Of describes. The error comes from
// NewModel, or names a choice that does not exist.
func NewSupernet(name string, input Shape, classes int, choices []Choice, layers func(pick func(name string) int) []Layer) (*Model, error) {
	for i, c := range choices {
		switch {
		case c.Name == "" || slices.ContainsFunc(choices[:i], func(o Choice) bool { return o.Name == c.Name }):
			return nil, fmt.Errorf("model %s: choice %d has the name %q; each must have one of its own", name, i+1, c.Name)
		case len(c.Options) == 0 || !slices.IsSorted(c.Options) || len(slices.Compact(slices.Clone(c.Options))) < len(c.Options):
			return nil, fmt.Errorf("model %s: choice %s has the options %v; they must ascend, the whole network's last", name, c.Name, c.Options)
		}
	}
	s := &space{choices, layers}
	m, err := NewModel(name, input, classes, layers(s.picks(nil))...)
	if err != nil {
		return nil, err
	}
	m.space = s
	return m, nil
}

// picks returns the values of all choices by name.
func (s *space) picks(p map[string]int) func(name string) int {
	return func(name string) int {
		if v, ok := p[name]; ok {
			return v
		}
		i := slices.IndexFunc(s.choices, func(c Choice) bool { return c.Name == name })
		if i < 0 {
			panic("nn: layers ask for the choice " + name + ", which the network does not have")
		}
		return s.choices[i].Options[len(s.choices[i].Options)-1]
	}
}

func (s *space) names() []string { return list.Of(s.choices, func(c Choice) string { return c.Name }) }

// Choices returns those of a network that NewSupernet made, else none; read-only.
func (m *Model) Choices() []Choice {
	if m.space == nil {
		return nil
	}
	return m.space.choices
}

// CheckPick returns an error for a value that no choice of the model has.
func (m *Model) CheckPick(p map[string]int) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		i := slices.IndexFunc(m.Choices(), func(c Choice) bool { return c.Name == name })
		switch {
		case m.space == nil:
			return fmt.Errorf("model %s has no choices; %s = %d picks one", m.name, name, p[name])
		case i < 0:
			return fmt.Errorf("model %s has no choice %q; it has %s", m.name, name, strings.Join(m.space.names(), ", "))
		case !slices.Contains(m.space.choices[i].Options, p[name]):
			return fmt.Errorf("model %s: %s = %d; it must be among %v", m.name, name, p[name], m.space.choices[i].Options)
		}
	}
	return nil
}

// Sub returns the sub-network that has, of each choice by its name, the value that p picks, and of
// one that is left out what the whole network has: with the model's loss, precision and
// trainable parameters. The error comes from CheckPick, or from NewModel.
func (m *Model) Sub(p map[string]int) (*Model, error) {
	if err := m.CheckPick(p); err != nil || m.space == nil {
		return m, err
	}
	sub, err := NewModel(m.name, m.input, m.classes, m.space.layers(m.space.picks(p))...)
	if err != nil {
		return nil, err
	}
	sub.loss, sub.lossType = m.loss, m.lossType
	if m.trainable != nil {
		trains := map[string]bool{}
		m.each(func(i int, name string, _ Param, _ int) { trains[name] = m.trainable[i] })
		sub.each(func(_ int, name string, _ Param, _ int) { sub.trainable = append(sub.trainable, trains[name]) })
		sub.freeze()
	}
	return sub.WithPrecision(m.precision), nil
}
