package hyper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// Use is a hyperparameter that a method uses.
type Use struct {
	// Key names it, such as client.lr; see All.
	Key string
	// In is the range that the method needs, within the hyperparameter's own; the
	// zero Range is that.
	In key.Range
	// Words are those that the method needs of a text; nil are all.
	Words []string
	// Why says in an error why the method needs it, empty when that is plain.
	Why string
}

// Using lists hyperparameters that a method uses in their whole ranges.
func Using(keys ...string) []Use {
	return list.Of(keys, func(k string) Use { return Use{Key: k} })
}

// Needing lists a hyperparameter that a method uses in a range of its own, written
// as in the table of hyperparameters: "(0, inf)", "[1, inf)", "0 or 1", or the
// words of a text: "sgd adam". A range that cannot be read is a programmer's
// mistake, and panics.
func Needing(name, in, why string) []Use {
	if p, ok := Find(name); ok && p.Text() {
		return []Use{{Key: name, Words: strings.Fields(in), Why: why}}
	}
	return []Use{{Key: name, In: key.In(in), Why: why}}
}

// Fixed says whether the method needs one value alone.
func (u Use) Fixed() bool { return u.In.Single() || len(u.Words) == 1 }

// UsingSteps lists what fl.Batches goes by: the learning rate, which the engine changes
// from round to round as its schedule says, the number of steps and
// the batches of local training, and dropout.
func UsingSteps() []Use {
	return slices.Concat(Using("client.lr"), UsingSchedule("client"),
		Using("client.epochs", "client.steps", "client.batch", "client.dropout"),
		Using("client.wrap", "client.floor", "client.drop_last"))
}

// UsingSGD lists what fl.Local.SGD goes by: UsingSteps, the optimizer, clipping
// and weight decay.
func UsingSGD() []Use {
	return slices.Concat(UsingSteps(), Using("client.optimizer", "client.momentum", "client.nesterov", "client.clip_norm",
		"client.beta1", "client.beta2", "client.eps", "client.weight_decay", "client.bias_decay", "client.lr_over"))
}

// Check returns an error unless the hyperparameter is in the range that the named method needs.
func (u Use) Check(method string, v *Values) error {
	p, ok := Find(u.Key)
	if !ok {
		return fmt.Errorf("method %q uses %s, which is no hyperparameter; package fl/hyper lists them", method, u.Key)
	}
	if p.Text() {
		if text, _ := p.Value(v).(string); u.Words == nil || slices.Contains(u.Words, text) {
			return nil
		}
		p.Words = u.Words
	} else {
		if u.In.String() == "" || u.In.Holds(p.Get(v)) {
			return nil
		}
		p.In = u.In
	}
	problem := fmt.Sprintf(" = %s: method %q needs %s", p.Literal(v), method, p.Want())
	if u.Why != "" {
		problem += "; " + u.Why
	}
	return &key.Error{Key: u.Key, Problem: problem}
}
