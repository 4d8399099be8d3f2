// Package hyper defines the hyperparameters of clients and servers. The key, range,
// default and description of each are in the tags of its field in Client or Server;
// methods, study files, search spaces, errors and the reference read them from there. To
// add a hyperparameter, add such a field and use it in a method that lists its key.
//
// The tags are the tags of package key, and these: default, the default value, which a
// method may override (0 if missing); off, the default value if it disables the
// hyperparameter, so that a method that does not use it rejects every other value; tune,
// "no" for a hyperparameter that a search space cannot contain, "yes" for a key of time.*,
// sampler.*, update.* and aggregator.* that it can.
package hyper

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// Values holds the hyperparameters of a round: the pair (c, b), how the server works on a
// fleet and chooses clients, and what happens to updates.
type Values struct {
	Client Client     `toml:"client"`
	Server Server     `toml:"server"`
	Time   fleet.Time `toml:"time"`

	Sampler    fleet.Sampler `toml:"sampler"`
	Update     Update        `toml:"update"`
	Aggregator Aggregation   `toml:"aggregator"`
}

// Param is one hyperparameter.
type Param struct {
	key.Key
	// Default is the default value: 0 or 1 for a boolean, the index in Words for a
	// string.
	Default float64
	// Optional is set if the value Default disables the hyperparameter.
	Optional bool
	// Tunable is set if a search space may contain it.
	Tunable bool
}

// table has the hyperparameters of clients and servers, others the tunable keys of time.*,
// sampler.*, update.* and aggregator.*, which all methods have.
var table, others = read()

// read reads the tables from the tags. It panics if they are invalid.
func read() (all, others []Param) {
	for _, k := range key.Of(reflect.TypeFor[Values](), "") {
		if !strings.HasPrefix(k.Name, "client.") && !strings.HasPrefix(k.Name, "server.") {
			if k.Tag.Get("tune") == "yes" {
				others = append(others, Param{Key: k, Tunable: true})
			}
			continue
		}
		p := Param{Key: k, Tunable: k.Tag.Get("tune") != "no"}
		text, given := k.Tag.Lookup("default")
		off, optional := k.Tag.Lookup("off")
		if p.Optional = optional; optional {
			text, given = off, true
		}
		if given {
			var err error
			if p.Text() {
				p.Default, err = p.Read(text)
			} else {
				p.Default, err = strconv.ParseFloat(text, 64)
			}
			if err != nil {
				panic("hyper: " + k.Name + ": " + err.Error())
			}
		}
		all = append(all, p)
	}
	return all, others
}

// Table returns all hyperparameters, those of clients first, in the order in which they
// are checked.
func Table() []Param { return slices.Clone(table) }

// All iterates over the hyperparameters of Table without copying them, since rounds check
// all hyperparameters of each client. They are read-only.
func All() iter.Seq[*Param] {
	return func(yield func(*Param) bool) {
		for i := range table {
			if !yield(&table[i]) {
				return
			}
		}
	}
}

// Find returns the hyperparameter with a key.
func Find(name string) (Param, bool) {
	for p := range All() {
		if p.Name == name {
			return *p, true
		}
	}
	return Param{}, false
}

// Tunable returns the keys that a search space may contain, sorted.
func Tunable() []string {
	var keys []string
	for _, p := range slices.Concat(table, others) {
		if p.Tunable {
			keys = append(keys, p.Name)
		}
	}
	slices.Sort(keys)
	return keys
}

func defaults() Values {
	var v Values
	for _, p := range table {
		p.put(&v, p.Default)
	}
	v.Client.begun, v.Time = true, fleet.DefaultTime()
	return v
}

func (p Param) field(v *Values) reflect.Value { return reflect.ValueOf(v).Elem().FieldByIndex(p.Index) }

// Get returns the value as a number: 0 or 1 for a boolean; for a string the index in
// Words, Default if it is empty and -1 if it is not among them.
func (p Param) Get(v *Values) float64 {
	switch f := p.field(v); {
	case p.Truth():
		if f.Bool() {
			return 1
		}
		return 0
	case p.Text() && f.String() == "":
		return p.Default
	case p.Text():
		return float64(slices.Index(p.Words, f.String()))
	case p.Whole():
		return float64(f.Int())
	default:
		return f.Float()
	}
}

// Value returns the value itself: a float64, int, bool or string.
func (p Param) Value(v *Values) any { return p.field(v).Interface() }

// Literal writes the hyperparameter in v as a study file does.
func (p Param) Literal(v *Values) string {
	if text, ok := p.Value(v).(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(p.Value(v))
}

// put sets the value for which Get returns x.
func (p Param) put(v *Values, x float64) {
	switch f := p.field(v); {
	case p.Truth():
		f.SetBool(x != 0)
	case p.Text():
		f.SetString(p.Words[int(x)])
	case p.Whole():
		f.SetInt(int64(x))
	default:
		f.SetFloat(x)
	}
}

// Read converts a value of a search space or of a tuner, a float64, bool or string, to
// the number that Get returns. It checks the type; Check checks the range.
func (p Param) Read(value any) (float64, error) {
	truth, isTruth := value.(bool)
	x, isNumber := value.(float64)
	text, isText := value.(string)
	switch {
	case p.Text():
		if i := slices.Index(p.Words, text); isText && i >= 0 {
			return float64(i), nil
		}
		return 0, fmt.Errorf("must be %s, not %v", p.Want(), value)
	case p.Truth() && isTruth:
		if truth {
			return 1, nil
		}
		return 0, nil
	case p.Truth():
		return 0, fmt.Errorf("must be true or false, not %v", value)
	case p.Whole() && (!isNumber || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32):
		return 0, fmt.Errorf("must be an integer, not %v", value)
	case !isNumber:
		return 0, fmt.Errorf("must be a number, not %v", value)
	}
	return x, nil
}

// Set sets a value that Read accepts, without checking its range.
func (p Param) Set(v *Values, value any) error {
	x, err := p.Read(value)
	if err != nil {
		return &key.Error{Key: p.Name, Problem: ": " + err.Error()}
	}
	p.put(v, x)
	return nil
}

// errNotBegun is the error for hyperparameters that are a literal.
var errNotBegun = errors.New("client hyperparameters must start from fl.Method.Defaults: zero values are not the defaults (client.dropout = 0 means no dropout)")

// Check returns an error for the first hyperparameter that is out of range, or if the
// struct was not created by DefaultClient.
func (c Client) Check() error {
	if !c.begun {
		return errNotBegun
	}
	if err := cmp.Or(check(&Values{Client: c}, "client."), c.checkRule(), c.checkSchedule()); err != nil {
		return err
	}
	if c.Nesterov && c.Momentum == 0 {
		return &key.Error{Key: "client.nesterov", Problem: " = true: requires client.momentum > 0"}
	}
	if c.Floor && (!c.Wrap || c.Steps > 0) {
		return &key.Error{Key: "client.floor", Problem: " = true: requires client.wrap = true and client.steps = 0"}
	}
	if c.DropLast && c.Wrap {
		return &key.Error{Key: "client.drop_last", Problem: " = true: must be false with client.wrap, which leaves no incomplete batch"}
	}
	return nil
}

// CheckTime returns an error for the first tunable key of time.* or sampler.* that is out of
// range.
func (v Values) CheckTime() error {
	for _, p := range others {
		if !strings.HasPrefix(p.Name, "time.") && !strings.HasPrefix(p.Name, "sampler.") {
			continue
		}
		if err := p.Check(reflect.ValueOf(v)); err != nil {
			return err
		}
	}
	return nil
}

// checkRule returns an error for the first hyperparameter of an optimizer that is not
// selected.
func (c Client) checkRule() error {
	if c.Adaptive() && c.Momentum != 0 {
		return &key.Error{Key: "client.momentum", Problem: fmt.Sprintf(" = %v: must be 0 with client.optimizer = %q; use client.beta1", c.Momentum, c.Optimizer)}
	}
	v := Values{Client: c}
	for _, name := range []string{"client.beta1", "client.beta2", "client.eps"} {
		if p, _ := Find(name); !c.Adaptive() && p.Get(&v) != p.Default {
			return &key.Error{Key: name, Problem: fmt.Sprintf(" = %v: only allowed with client.optimizer = adam or adamw", p.Get(&v))}
		}
	}
	return nil
}

// Check returns an error for the first hyperparameter that is out of range.
func (s Server) Check() error {
	if s.Kind == "" { // a literal's
		s.Kind = scheduleConstant
	}
	if err := check(&Values{Server: s}, "server."); err != nil {
		return err
	}
	return s.checkWhole("server", true)
}

func check(v *Values, prefix string) error {
	for p := range All() {
		if !strings.HasPrefix(p.Name, prefix) || p.Name == "client.epochs" && v.Client.Steps > 0 {
			continue
		}
		if err := p.Check(reflect.ValueOf(v).Elem()); err != nil {
			return err
		}
	}
	return nil
}

// Pick returns the values of the choices that c.Arch names.
func (c Client) Pick() map[string]int {
	pick := map[string]int{}
	for part := range strings.FieldsSeq(c.Arch) {
		name, value, _ := strings.Cut(part, "=")
		if v, err := strconv.Atoi(value); err == nil {
			pick[name] = v
		}
	}
	return pick
}

// SetPick sets c.Arch to the values of choices, by name in ascending order: such as
// "stage1.depth=2 stage1.width=16".
func (c *Client) SetPick(pick map[string]int) {
	names := slices.Sorted(maps.Keys(pick))
	c.Arch = strings.Join(list.Of(names, func(name string) string { return name + "=" + strconv.Itoa(pick[name]) }), " ")
}

// withPick returns v with the choices picked that params name.
func (v Values) withPick(params tuners.Params) (Values, error) {
	var pick map[string]int
	for _, name := range params.Keys() {
		choice, ok := strings.CutPrefix(name, tuners.ArchPrefix)
		if !ok {
			continue
		}
		x, ok := params[name].Float()
		if !ok || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
			return v, &key.Error{Key: name, Problem: fmt.Sprintf(": must be an integer, not %v", params[name])}
		}
		if pick == nil {
			pick = v.Client.Pick()
		}
		pick[choice] = int(x)
	}
	if pick != nil {
		v.Client.SetPick(pick)
	}
	return v, nil
}
