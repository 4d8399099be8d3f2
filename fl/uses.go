package fl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/key"
)

// Use is a hyperparameter that a method uses.
type Use struct {
	// Key names it.
	Key string
	// In is the range that the method needs, within the hyperparameter's own; the
	// zero Range is that.
	In key.Range
	// Why says in an error why the method needs it, empty when that is plain.
	Why string
}

// use lists hyperparameters that a method uses in their whole ranges.
func use(keys ...string) []Use {
	var uses []Use
	for _, k := range keys {
		uses = append(uses, Use{Key: k})
	}
	return uses
}

// need lists a hyperparameter that a method uses in a range of its own.
func need(name, in, why string) []Use { return []Use{{name, key.In(in), why}} }

// What several methods use.
var (
	localSteps = use("client.lr", "client.epochs", "client.steps", "client.batch", "client.dropout", "client.wrap", "client.floor")
	localSGD   = slices.Concat(localSteps, use("client.momentum", "client.weight_decay"))
	serverStep = use("server.lr", "server.momentum", "server.decay")
)

// KeyError says what is wrong with the value of a key, such as client.lr.
type KeyError = key.Error

// CheckParams returns an error that names the first hyperparameter that is out of
// its range, or that the method cannot use as it is or would ignore silently, and
// what to do about it.
func CheckParams(m Method, c ClientParams, s ServerParams) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	v := hyper.Values{Client: c, Server: s}
	uses := m.Uses()
	for _, u := range uses {
		if err := u.check(m, &v); err != nil {
			return err
		}
	}
	for _, p := range hyper.Table() {
		used := slices.ContainsFunc(uses, func(u Use) bool { return u.Key == p.Name })
		if used || !p.Optional || p.Get(&v) == p.Default {
			continue
		}
		return &KeyError{Key: p.Name, Problem: fmt.Sprintf(" = %v: method %q does not use it; leave it out, or use %s", p.Value(&v), m.Name(), oneMethod(Users(p.Name)))}
	}
	return nil
}

// check returns an error unless the hyperparameter is in the method's range.
func (u Use) check(m Method, v *hyper.Values) error {
	p, ok := hyper.Find(u.Key)
	if !ok {
		panic("fl: method " + m.Name() + " uses " + u.Key + ", which is no hyperparameter")
	}
	if u.In.String() == "" || u.In.Holds(p.Get(v)) {
		return nil
	}
	p.In = u.In
	problem := fmt.Sprintf(" = %v: method %q needs %s", p.Value(v), m.Name(), p.Want())
	if u.Why != "" {
		problem += "; " + u.Why
	}
	return &KeyError{Key: u.Key, Problem: problem}
}

// Users returns the names of the methods that use a hyperparameter, sorted.
func Users(name string) []string {
	var users []string
	for _, m := range Methods() {
		if slices.ContainsFunc(methods[m].Uses(), func(u Use) bool { return u.Key == name && !u.In.Single() }) {
			users = append(users, m)
		}
	}
	return users
}

// oneMethod offers methods to choose from.
func oneMethod(names []string) string {
	const most = 4
	switch n := len(names); {
	case n == 1:
		return fmt.Sprintf("method %q", names[0])
	case n > most:
		return "one of the methods " + strings.Join(names[:most], ", ") + " ..."
	default:
		return "one of the methods " + strings.Join(names, ", ")
	}
}

// Settings returns the other keys of a study file that the method reads.
func Settings(m Method) []string {
	var keys []string
	if r, ok := m.(reader); ok {
		keys = append(keys, r.reads()...)
	}
	if _, ok := m.(keeper); ok {
		keys = append(keys, "data.state_memory")
	}
	return keys
}

// reader is a method that reads keys of its own besides hyperparameters.
type reader interface{ reads() []string }
