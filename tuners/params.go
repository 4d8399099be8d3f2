package tuners

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// Params are named values: one point of a search space, or a tuner's options. Names
// are dotted study keys, such as "client.lr".
type Params map[string]Value

// ParamsOf reads the values of a table, as a decoder of TOML or JSON gives it. The
// error names the key.
func ParamsOf(table map[string]any) (Params, error) {
	p := Params{}
	for key, x := range table {
		v, err := ValueOf(x)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		p[key] = v
	}
	return p, nil
}

// Keys returns the names in ascending order.
func (p Params) Keys() []string { return slices.Sorted(maps.Keys(p)) }

// Clone returns a copy; nil stays nil.
func (p Params) Clone() Params { return maps.Clone(p) }

// Equal says whether both hold the same names and values.
func (p Params) Equal(q Params) bool { return maps.Equal(p, q) }

// Merge returns a copy of p in which q's values replace those of the same name.
func (p Params) Merge(q Params) Params {
	m := make(Params, len(p)+len(q))
	maps.Copy(m, p)
	maps.Copy(m, q)
	return m
}

// Float returns the number named key, or otherwise when key is absent or no number.
func (p Params) Float(key string, otherwise float64) float64 {
	if x, ok := p[key].Float(); ok {
		return x
	}
	return otherwise
}

// Int returns the number named key cut to an integer, or otherwise when key is
// absent or no number.
func (p Params) Int(key string, otherwise int) int {
	if x, ok := p[key].Float(); ok {
		return int(x)
	}
	return otherwise
}

// Text returns the string named key, or otherwise when key is absent or no string.
func (p Params) Text(key, otherwise string) string {
	if s, ok := p[key].Text(); ok {
		return s
	}
	return otherwise
}

// Truth returns the bool named key, or otherwise when key is absent or no bool.
func (p Params) Truth(key string, otherwise bool) bool {
	if b, ok := p[key].Truth(); ok {
		return b
	}
	return otherwise
}

// String lists the params in name order: client.lr=0.1 server.lr=1.
func (p Params) String() string {
	var b strings.Builder
	for i, k := range p.Keys() {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%s", k, p[k])
	}
	return b.String()
}

// CheckOptions returns what is wrong with a study's options for a tuner of this
// description: unknown names, values of another kind than the option's default,
// numbers that are not finite. Ranges are the tuner's own business.
func (d Description) CheckOptions(options Params) []Problem {
	var problems []Problem
	for _, name := range options.Keys() {
		key := "options." + name
		o, ok := d.option(name)
		if !ok {
			problems = append(problems, Problem{Key: key, Message: d.unknownOption(name)})
			continue
		}
		v := options[name]
		switch x, isNum := v.Float(); {
		case v.Kind() != o.Default.Kind():
			problems = append(problems, Problem{Key: key, Message: fmt.Sprintf("%s must be %s, such as %s, not %s", name, o.Default.Kind(), o.Default, v)})
		case isNum && !det.Finite(x):
			problems = append(problems, Problem{Key: key, Message: fmt.Sprintf("%s must be finite, not %s", name, v)})
		}
	}
	return problems
}

// WithDefaults returns the options with the defaults of those that are absent.
func (d Description) WithDefaults(options Params) Params {
	all := make(Params, len(d.Options))
	for _, o := range d.Options {
		all[o.Name] = o.Default
	}
	return all.Merge(options)
}

// String names the kind in an error: "a number".
func (k ValueKind) String() string {
	switch k {
	case NumValue:
		return "a number"
	case StrValue:
		return "a string"
	case BoolValue:
		return "true or false"
	case NoneValue:
	}
	return "nothing"
}

// option finds an option by name.
func (d Description) option(name string) (Option, bool) {
	for _, o := range d.Options {
		if o.Name == name {
			return o, true
		}
	}
	return Option{}, false
}

// unknownOption says which options there are.
func (d Description) unknownOption(name string) string {
	if len(d.Options) == 0 {
		return fmt.Sprintf("%s has no option %q; it has no options", d.Name, name)
	}
	names := list.Of(d.Options, func(o Option) string { return o.Name })
	return fmt.Sprintf("%s has no option %q; available: %s", d.Name, name, strings.Join(names, ", "))
}
