package tuners

import (
	"fmt"
	"slices"
	"strings"
)

// Conditional reports whether a dimension has a condition.
func (s Space) Conditional() bool {
	return slices.ContainsFunc(s, func(d Dim) bool { return d.When != nil })
}

// Active returns the point that values of all dimensions stand for: without those whose
// condition it does not meet.
func (s Space) Active(p Params) Params {
	if !s.Conditional() {
		return p
	}
	out := make(Params, len(p))
	for name, v := range p {
		if d, ok := s.Dim(name); !ok || s.active(d, p) {
			out[name] = v
		}
	}
	return out
}

// active reports whether a point has a dimension: it meets the dimension's condition, and
// has the one that this is about.
func (s Space) active(d Dim, p Params) bool {
	for d.When != nil {
		if !slices.Contains(d.When.Values, p[d.When.Parent]) {
			return false
		}
		d, _ = s.Dim(d.When.Parent)
	}
	return true
}

// checkConditions says what is wrong with a condition.
func (s Space) checkConditions() error {
	for _, d := range s {
		if d.When == nil {
			continue
		}
		parent, ok := s.Dim(d.When.Parent)
		switch {
		case !ok:
			return fmt.Errorf("%s: when names %s, which is not a dimension of the space", d.Name, d.When.Parent)
		case parent.Kind != Choice:
			return fmt.Errorf("%s: when names %s, which must be a choice", d.Name, d.When.Parent)
		case len(d.When.Values) == 0:
			return fmt.Errorf("%s: when needs values of %s", d.Name, d.When.Parent)
		}
		for _, v := range d.When.Values {
			if err := parent.Contains(v); err != nil {
				return fmt.Errorf("%s: when: %w", d.Name, err)
			}
		}
		for above := range len(s) + 1 {
			if parent.When == nil {
				break
			}
			if parent, ok = s.Dim(parent.When.Parent); !ok || above == len(s) {
				return fmt.Errorf("%s: its condition depends on itself", d.Name)
			}
		}
	}
	return nil
}

// parseWhen reads a condition: {"client.optimizer" = ["adam"]}.
func parseWhen(name string, x any) (*When, error) {
	table, ok := x.(map[string]any)
	if !ok || len(table) != 1 {
		return nil, fmt.Errorf("%s: when must name one dimension and its values, such as {\"client.optimizer\" = [\"adam\"]}", name)
	}
	when := &When{}
	for parent, list := range table {
		when.Parent = parent
		values, ok := anyList(list)
		if !ok {
			values = []any{list}
		}
		for _, e := range values {
			v, err := ValueOf(e)
			if err != nil {
				return nil, fmt.Errorf("%s: when: %w", name, err)
			}
			when.Values = append(when.Values, v)
		}
	}
	return when, nil
}

// valuesText writes values as a list of TOML.
func valuesText(values []Value) string {
	var parts []string
	for _, v := range values {
		text, _ := v.MarshalTOML() // Check refuses the absent values that would fail here
		parts = append(parts, string(text))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
