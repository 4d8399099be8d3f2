package fl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// Use is a hyperparameter that a method uses.
type Use struct {
	// Key names it, such as client.lr; package fl/hyper has the table.
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
	var uses []Use
	for _, k := range keys {
		uses = append(uses, Use{Key: k})
	}
	return uses
}

// Needing lists a hyperparameter that a method uses in a range of its own, written
// as in the table of package fl/hyper: "(0, inf)", "[1, inf)", "0 or 1", or the
// words of a text: "sgd adam". A range that cannot be read is a programmer's
// mistake, and panics.
func Needing(name, in, why string) []Use {
	if p, ok := hyper.Find(name); ok && p.Text() {
		return []Use{{Key: name, Words: strings.Fields(in), Why: why}}
	}
	return []Use{{Key: name, In: key.In(in), Why: why}}
}

// Fixed says whether the method needs one value alone.
func (u Use) Fixed() bool { return u.In.Single() || len(u.Words) == 1 }

// UsingSteps lists what Batches goes by: the learning rate, which the engine changes
// from round to round as its schedule says, the number of steps and
// the batches of local training, and dropout.
func UsingSteps() []Use {
	return Using("client.lr", "client.lr_schedule", "client.lr_min", "client.lr_length", "client.lr_every", "client.lr_factor", "client.lr_warmup", "client.epochs", "client.steps", "client.batch", "client.dropout", "client.wrap", "client.floor")
}

// UsingSGD lists what Local.SGD goes by: UsingSteps, the optimizer, clipping
// and weight decay.
func UsingSGD() []Use {
	return slices.Concat(UsingSteps(), Using("client.optimizer", "client.momentum", "client.nesterov", "client.clip_norm",
		"client.beta1", "client.beta2", "client.eps", "client.weight_decay", "client.bias_decay", "client.lr_over"))
}

// CheckSubnets returns an error if the method's clients train the whole network.
func (m Method) CheckSubnets() error {
	if m.Subnet != nil {
		return nil
	}
	return fmt.Errorf("method %q trains the whole network; leave it out, or use method \"supernet\"", m.Name)
}

// CheckParams returns an error that names the first hyperparameter that is out of
// its range, or that the method cannot use as it is or would ignore silently, and
// what to do about it.
func (m Method) CheckParams(c ClientParams, s ServerParams) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	if err := m.CheckSubnets(); err != nil && c.Arch != "" {
		return fmt.Errorf("%s%s: %w", tuners.ArchPrefix, strings.Fields(c.Arch)[0], err)
	}
	v := hyper.Values{Client: c, Server: s}
	for _, u := range m.Uses {
		if err := u.check(m.Name, &v); err != nil {
			return err
		}
	}
	for p := range hyper.All() {
		if !p.Optional || p.Get(&v) == p.Default || slices.ContainsFunc(m.Uses, func(u Use) bool { return u.Key == p.Name }) {
			continue
		}
		return &key.Error{Key: p.Name, Problem: fmt.Sprintf(" = %s: method %q does not use it; leave it out%s", literal(p.Value(&v)), m.Name, orUse(users(p.Name)))}
	}
	return nil
}

// check returns an error unless the hyperparameter is in the method's range.
func (u Use) check(method string, v *hyper.Values) error {
	p, ok := hyper.Find(u.Key)
	if !ok {
		return u.unknown(method)
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
	problem := fmt.Sprintf(" = %s: method %q needs %s", literal(p.Value(v)), method, p.Want())
	if u.Why != "" {
		problem += "; " + u.Why
	}
	return &key.Error{Key: u.Key, Problem: problem}
}

// literal writes a value as a study file does.
func literal(value any) string {
	if text, ok := value.(string); ok {
		return strconv.Quote(text)
	}
	return fmt.Sprint(value)
}

// unknown is the error for a key that no hyperparameter has.
func (u Use) unknown(method string) error {
	return fmt.Errorf("fl: method %q uses %s, which is no hyperparameter; package fl/hyper lists them", method, u.Key)
}

// orUse offers methods to choose from.
func orUse(names []string) string {
	const most = 4
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf(", or use method %q", names[0])
	case n > most:
		return ", or use one of the methods " + strings.Join(names[:most], ", ") + " ..."
	default:
		return ", or use one of the methods " + strings.Join(names, ", ")
	}
}
