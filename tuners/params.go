package tuners

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
