// Package hyper holds the hyperparameters of clients and servers and the one table
// of them: the key, range, default and meaning of each stand in the tags of its
// field in Client or Server, and methods, study files, search spaces, errors and
// the reference read them there. A new hyperparameter is one such line, and its
// use in a method that lists its key.
//
// The tags are those of package key, and these: default is the value that a study
// starts from, unless its method has one of its own, 0 where there is none; off is
// the value, and the default, at which the hyperparameter does nothing, so that a
// method that does not use it refuses every other; tune is "no" for one that a
// search space cannot hold.
package hyper

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
)

// Values are the hyperparameters of a round: the pair (c, b).
type Values struct {
	Client Client `toml:"client"`
	Server Server `toml:"server"`
}

// Param is one hyperparameter.
type Param struct {
	key.Key
	// Default is the value that a study starts from; of truths 0 is false and 1
	// true, of texts it is the place in Words.
	Default float64
	// Optional says that there is a value at which it does nothing: Default.
	Optional bool
	// Tunable says that a search space may hold it.
	Tunable bool
}

var table = read()

// read makes the table from the tags. What cannot be read is a programmer's
// mistake.
func read() []Param {
	var all []Param
	for _, k := range key.Of(reflect.TypeFor[Values](), "") {
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
	return all
}

// Table returns all hyperparameters, those of clients first, in the order in which
// errors about several are told.
func Table() []Param { return slices.Clone(table) }

// All ranges over what Table returns without a copy of it: rounds check all
// hyperparameters of each client. They are read-only.
func All() iter.Seq[*Param] {
	return func(yield func(*Param) bool) {
		for i := range table {
			if !yield(&table[i]) {
				return
			}
		}
	}
}

// Find returns a hyperparameter by its key.
func Find(name string) (Param, bool) {
	for p := range All() {
		if p.Name == name {
			return *p, true
		}
	}
	return Param{}, false
}

// Tunable returns the keys that a search space may hold, sorted.
func Tunable() []string {
	var keys []string
	for _, p := range table {
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
	v.Client.begun = true
	return v
}

func (p Param) field(v *Values) reflect.Value { return reflect.ValueOf(v).Elem().FieldByIndex(p.Index) }

// Get returns the value as a number; of truths 0 is false and 1 true, of texts it
// is the place in Words, Default for an empty one and -1 for one that is not among
// them.
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

// put writes a value of which Get would return x.
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

// Read returns a value of a search space or of a tuner, a float64, bool or string,
// as Get would. The error says what the kind of value must be; see Check for the
// range.
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
		return 0, fmt.Errorf("must be a whole number, not %v", value)
	case !isNumber:
		return 0, fmt.Errorf("must be a number, not %v", value)
	}
	return x, nil
}

// Set writes a value that Read takes, whatever its range.
func (p Param) Set(v *Values, value any) error {
	x, err := p.Read(value)
	if err != nil {
		return &key.Error{Key: p.Name, Problem: ": " + err.Error()}
	}
	p.put(v, x)
	return nil
}

// errNotBegun says how to make hyperparameters.
var errNotBegun = errors.New("client hyperparameters that do not begin as fl.Method.Defaults returns them: fields left at 0 are not their defaults (client.dropout = 0 is no dropout); take those and change what differs")

// Check returns an error that names the first hyperparameter out of its range, or
// says that they do not begin as DefaultClient makes them.
func (c Client) Check() error {
	if !c.begun {
		return errNotBegun
	}
	if err := check(&Values{Client: c}, "client."); err != nil {
		return err
	}
	if err := c.checkRule(); err != nil {
		return err
	}
	if err := c.checkSchedule(); err != nil {
		return err
	}
	if c.Nesterov && c.Momentum == 0 {
		return &key.Error{Key: "client.nesterov", Problem: " = true: must be false unless client.momentum is above 0"}
	}
	if c.Floor && (!c.Wrap || c.Steps > 0) {
		return &key.Error{Key: "client.floor", Problem: " = true: must be false unless client.wrap is true and client.steps 0"}
	}
	return nil
}

// checkRule returns an error that names the first hyperparameter of another rule of
// local steps than the one that is set.
func (c Client) checkRule() error {
	if c.Adaptive() && c.Momentum != 0 {
		return &key.Error{Key: "client.momentum", Problem: fmt.Sprintf(" = %v: must be 0 with client.optimizer = %q, which has client.beta1", c.Momentum, c.Optimizer)}
	}
	v := Values{Client: c}
	for _, name := range []string{"client.beta1", "client.beta2", "client.eps"} {
		if p, _ := Find(name); !c.Adaptive() && p.Get(&v) != p.Default {
			return &key.Error{Key: name, Problem: fmt.Sprintf(" = %v: must be left out unless client.optimizer is adam or adamw", p.Get(&v))}
		}
	}
	return nil
}

// Check returns an error that names the first hyperparameter out of its range.
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
