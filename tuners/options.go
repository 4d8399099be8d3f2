package tuners

import (
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

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
