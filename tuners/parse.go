package tuners

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// ParseSpace reads the dimensions of a table, each as ParseDim does, in the order
// of their names.
func ParseSpace(table map[string]any) (Space, error) {
	var space Space
	for _, name := range slices.Sorted(maps.Keys(table)) {
		dim, err := ParseDim(name, table[name])
		if err != nil {
			return nil, err
		}
		space = append(space, dim)
	}
	return space, space.checkConditions()
}

// ParseDim reads a dimension from what a TOML decoder gives for its inline table,
// one of
//
//	{uniform = [a, b]}  {log10 = [-4, 0]}  {log10_1m = [-4, -2]}  {int = [1, 5]}  {log2 = [3, 7]}  {choice = [0, 0.9]}
//
// Pairs are the ends on the drawn scale: exponents of ten for log10 and log10_1m
// (of 1 - x), whole exponents of two for log2. An int or uniform dimension may have a step,
// {int = [8, 64], step = 8}, which leads from the lower end to the upper. Beside its kind a dimension may have a
// condition, see When: {uniform = [0, 1], when = {"client.optimizer" = ["adam"]}}.
// The error is one line that begins with the name.
func ParseDim(name string, v any) (Dim, error) {
	const want = "must be one of {uniform = [a, b]}, {log10 = [a, b]}, {log10_1m = [a, b]}, {int = [a, b]}, {log2 = [a, b]}, {choice = [...]}"
	table, ok := v.(map[string]any)
	if !ok {
		if d, err := parseKind(Dim{Name: name, Kind: Choice}, v, want); err == nil {
			return Dim{}, fmt.Errorf("%s: %s; for one of several values {choice = %.200s}", name, want, valuesText(d.Choices))
		}
		return Dim{}, fmt.Errorf("%s: %s, not %.200s", name, want, fmt.Sprint(v))
	}
	dim := Dim{Name: name}
	kinds := slices.Sorted(maps.Keys(table))
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "when" || k == "step" })
	if x, ok := table["when"]; ok {
		var err error
		if dim.When, err = parseWhen(name, x); err != nil {
			return Dim{}, err
		}
	}
	step, stepped := table["step"]
	if len(kinds) != 1 {
		return Dim{}, fmt.Errorf("%s: %s, exactly one", name, want)
	}
	by, _ := ValueOf(step)
	if dim.Step, _ = by.Float(); stepped && !(dim.Step > 0 && det.Finite(dim.Step)) {
		return Dim{}, fmt.Errorf("%s: step must be a positive number, not %v", name, step)
	}
	dim.Kind = DimKind(kinds[0])
	return parseKind(dim, table[kinds[0]], want)
}

// parseKind fills a dimension from the list after its kind.
func parseKind(d Dim, x any, want string) (Dim, error) {
	switch d.Kind {
	case Uniform, Log10, Log10OneMinus, Int, Log2, Choice:
	default:
		return Dim{}, fmt.Errorf("%s: unknown kind %q: %s", d.Name, string(d.Kind), want)
	}
	list, ok := anyList(x)
	if !ok {
		return Dim{}, fmt.Errorf("%s: %s needs a list, not %v", d.Name, d.Kind, x)
	}
	values := make([]Value, len(list))
	for i, e := range list {
		v, err := ValueOf(e)
		if err != nil {
			return Dim{}, fmt.Errorf("%s: %s: %w", d.Name, d.Kind, err)
		}
		values[i] = v
	}
	if d.Kind == Choice {
		d.Choices = values
		return d, d.Check()
	}
	if len(values) != 2 {
		return Dim{}, fmt.Errorf("%s: %s needs two numbers [low, high], not %d values", d.Name, d.Kind, len(values))
	}
	lo, okLo := values[0].Float()
	hi, okHi := values[1].Float()
	if !okLo || !okHi {
		return Dim{}, fmt.Errorf("%s: %s needs two numbers [low, high], not [%s, %s]", d.Name, d.Kind, values[0], values[1])
	}
	d.Lo, d.Hi = lo, hi
	if step := d.Step; step != 0 {
		d.Step = 0
		if err := d.Check(); err != nil {
			return d, err
		}
		n := (hi - lo) / step
		if whole := math.Round(n); math.Abs(n-whole) < tolerance*max(1, whole) {
			n = whole
		}
		d.Base, d.Lo, d.Hi, d.Step = lo, 0, n, step
	}
	return d, d.Check()
}

// anyList accepts the list types of decoders.
func anyList(x any) ([]any, bool) {
	switch x := x.(type) {
	case []any:
		return x, true
	case []float64:
		return list.Of(x, func(v float64) any { return v }), true
	}
	return nil, false
}

// Table returns what ParseDim reads.
func (d Dim) Table() map[string]any {
	low, high := d.ends()
	values := []any{low, high}
	if d.Kind == Choice {
		values = list.Of(d.Choices, Value.Any)
	}
	table := map[string]any{string(d.Kind): values}
	if d.Step != 0 {
		table["step"] = d.Step
	}
	if d.When != nil {
		table["when"] = map[string]any{d.When.Parent: list.Of(d.When.Values, Value.Any)}
	}
	return table
}

// String writes the dimension as a study file does: "client.lr" = {log10 = [-4,
// 0]}.
func (d Dim) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q = {%s = ", d.Name, string(d.Kind))
	if d.Kind == Choice {
		b.WriteString(valuesText(d.Choices))
	} else {
		low, high := d.ends()
		fmt.Fprintf(&b, "[%v, %v]", low, high)
	}
	if d.Step != 0 {
		fmt.Fprintf(&b, ", step = %v", d.Step)
	}
	if d.When != nil {
		fmt.Fprintf(&b, ", when = {%q = %s}", d.When.Parent, valuesText(d.When.Values))
	}
	b.WriteString("}")
	return b.String()
}
