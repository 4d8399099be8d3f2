package fl

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/kernels"
)

// Updates says what happens to the clients' updates on their way to the server: the keys
// update.*. They are keys of a table and not a list of steps, so that flags can set them and
// no order has to be chosen: each stage has one key, which names its transform, and the
// stages have a fixed order. The zero Updates are DefaultUpdates.
type Updates struct {
	// what attackers do, see fedfast list updates; default: no attack
	Attack string `toml:"attack" also:"poison byzantine"`
	// share of the clients that are attackers, drawn once by the seed
	Attackers float64 `toml:"attackers" in:"(0, 1)" also:"attack_share fraction malicious"`
	// strength of the attack: a factor of what attackers send; 0: the attack's own
	Strength float64 `toml:"strength" in:"[0, 1e6]" also:"scale boost z"`
	// which values of its update a client sends, see fedfast list updates; default: all
	Sparsify string `toml:"sparsify" also:"sparsification compress"`
	// how a client rounds the values that it sends, see fedfast list updates; default: not at all
	Quantize string `toml:"quantize" also:"quantization compress"`
	hyper.Update
	// each client keeps what biased compression leaves out of its update, and adds it to its next one
	Feedback bool `toml:"feedback" also:"error_feedback memory"`
}

// DefaultUpdates returns the defaults of the keys update.*: updates reach the server as they are.
func DefaultUpdates() Updates {
	return Updates{Attackers: 0.2, Update: hyper.Update{Keep: 0.01, Bits: 8}, Feedback: true}
}

// names returns the names of the transforms by stage, empty for none.
func (u *Updates) names() [stages]string { return [stages]string{u.Attack, u.Sparsify, u.Quantize} }

// Uses returns the keys of update.* that the transforms use.
func (u *Updates) Uses() []string {
	var used []string
	for s, name := range u.names() {
		t, err := transformByName(Stage(s), name)
		if name == "" || err != nil {
			continue
		}
		used = append(append(used, t.Stage.String()), t.Uses...)
		if t.Biased {
			used = append(used, "update.feedback")
		}
		if t.Stage == StageAttack {
			used = append(used, "update.attackers")
		}
	}
	return used
}

// Chain returns the transforms that updates go through, in their order. The error names a key
// whose value is not allowed, or that none of them uses.
func (u *Updates) Chain() ([]Transform, error) {
	if *u == (Updates{}) {
		return nil, nil
	}
	var chain []Transform
	for s, name := range u.names() {
		if name == "" {
			continue
		}
		t, err := transformByName(Stage(s), name)
		if err != nil {
			return nil, err
		}
		chain = append(chain, t)
	}
	given, unset := reflect.ValueOf(*u), reflect.ValueOf(DefaultUpdates())
	for _, k := range keysOf[Updates]("update.") {
		value := given.FieldByIndex(k.Index).Interface()
		if value == unset.FieldByIndex(k.Index).Interface() {
			continue
		}
		if err := k.Check(given); err != nil {
			return nil, err
		}
		if problem := u.Ignores(k.Name); problem != "" {
			return nil, &key.Error{Key: k.Name, Problem: fmt.Sprintf(" = %v: %s", value, problem)}
		}
	}
	return chain, nil
}

// Ignores returns what to say of a key of update.* that the transforms do not use, and what would
// use it; "" for a key that they use.
func (u *Updates) Ignores(name string) string {
	if slices.Contains(u.Uses(), name) {
		return ""
	}
	var by []string
	for s := range stages {
		for _, t := range Transforms(s) {
			if slices.Contains(t.Uses, name) || t.Biased && name == "update.feedback" || t.Stage == StageAttack && name == "update.attackers" {
				by = append(by, fmt.Sprintf("%s = %q", t.Stage, t.Name))
			}
		}
	}
	const most = 3
	if len(by) > most {
		by = append(by[:most], "...")
	}
	return fmt.Sprintf("not used, but with %s; leave it out", strings.Join(by, ", "))
}

// strength returns that of an attack.
func (u *Updates) strength(t *Transform) float64 {
	if u.Strength > 0 {
		return u.Strength
	}
	return t.Strength
}

// updates says why the method's updates are not each one change of all trained weights; empty
// if they are.
func (m *Method) updates() string {
	what := ""
	switch {
	case m.Gather != nil:
		what = "clients send more than the change of their weights"
	case m.NewSender != nil:
		what = "the server sends each client weights of its own and takes its changes one by one"
	case m.Subnet != nil || m.Trains != nil:
		what = "clients train sub-networks, whose parts of an update are all that they have"
	default:
		return ""
	}
	return fmt.Sprintf("%s with method = %q; use a method such as \"fedavg\"", what, m.Name)
}

// checkUpdates returns an error for what updates cannot go through.
func (c *Config) checkUpdates() error {
	chain, err := c.Updates.Chain()
	if err != nil {
		return err
	}
	m := &c.Method
	for _, t := range chain {
		bad := func(format string, args ...any) error {
			return &key.Error{Key: t.Stage.String(), Problem: fmt.Sprintf(" = %q: ", t.Name) + fmt.Sprintf(format, args...)}
		}
		switch problem := m.updates(); {
		case problem != "" && t.Stage != StageAttack:
			return bad("%s", problem)
		case t.Label != nil && c.Data != nil && !c.flips():
			return bad("it needs data with one class as the label of a sample, which %s does not have", c.Data.Name)
		case t.Stage == StageAttack && c.Data != nil && c.attackers() == 0:
			return &key.Error{Key: "update.attackers", Problem: fmt.Sprintf(" = %v: none of the %d clients; raise it", c.Updates.Attackers, len(c.Data.Clients))}
		}
	}
	return nil
}

// attackers returns how many clients are attackers, if there is an attack.
func (c *Config) attackers() int {
	return int(math.RoundToEven(c.Updates.Attackers * float64(len(c.Data.Clients))))
}

// drawAttackers draws them.
func (c *Config) drawAttackers() []bool {
	if c.Updates.Attack == "" {
		return nil
	}
	is := make([]bool, len(c.Data.Clients))
	for _, i := range draw(kernels.NewStream(kernels.Key(c.Seed, purposeAttackers), 0), len(is), c.attackers()) {
		is[i] = true
	}
	return is
}

// KeepsErrors reports whether clients keep what the compression of their updates leaves out,
// so that each has a state.
func (u *Updates) KeepsErrors() bool {
	chain, err := u.Chain()
	return err == nil && u.Feedback && slices.ContainsFunc(chain, func(t Transform) bool { return t.Biased })
}

// changes reports whether anything happens to updates.
func (u *Updates) changes() bool { return u.names() != [stages]string{} }

// feedbackLen returns how many floats a client keeps of what compression left out.
func (c *Config) feedbackLen() int {
	if !c.Updates.KeepsErrors() {
		return 0
	}
	return c.Sent() - c.sentBuffers()
}

// planUpdates has a round's updates go the way that its plan has. The error says what is
// wrong with it.
func (t *Trial) planUpdates(p *Plan) error {
	c := &t.engine.cfg
	t.updates, t.aggregation = c.Updates, c.Aggregation
	t.updates.Update, t.aggregation.Aggregation = p.Update, p.Aggregator
	if t.updates == c.Updates && t.aggregation == c.Aggregation {
		return nil
	}
	_, err := t.updates.Chain()
	a, wrong := t.aggregation.Aggregator()
	return errors.Join(err, wrong, c.checkLeast(&a, &t.aggregation))
}
