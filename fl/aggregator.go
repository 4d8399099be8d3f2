package fl

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/robust"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/naming"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// Aggregation says what the server makes of the updates of a round's clients: the keys
// aggregator.*. The zero Aggregation is DefaultAggregation.
type Aggregation struct {
	// how the server combines the updates of a round's clients, see fedfast list aggregators
	Name string `toml:"name" also:"rule defense"`
	hyper.Aggregation
}

// aggregatorMean is the aggregator of every method.
const aggregatorMean = "mean"

// DefaultAggregation returns the defaults of the keys aggregator.*: the method's weighted mean.
func DefaultAggregation() Aggregation {
	return Aggregation{Name: aggregatorMean, Aggregation: hyper.Aggregation{Trim: 0.1, Wrong: 0.2, Steps: 3, Least: 1e-6}}
}

// Aggregator makes one update of those of a round's clients, as data and functions. It holds
// no state, and its functions are called from several goroutines. RegisterAggregator makes it
// known by its name.
type Aggregator struct {
	// Name is the value of aggregator.name. Required.
	Name string
	// Doc says in a line what it does, Paper where it comes from.
	Doc, Paper string
	// Uses lists the other keys of aggregator.* that it reads.
	Uses []string
	// Least returns how many clients a round needs; nil is 1.
	Least func(p *Aggregation, cohort int) int
	// Factor returns by what a client's update of a norm is multiplied before the weighted
	// mean is taken. The server then holds no single updates.
	Factor func(p *Aggregation, norm float64) float64
	// Combine sets Out from the updates, which the server holds for it.
	Combine func(h *Held)
}

// Held are the updates of a round's clients, for Aggregator.Combine.
type Held struct {
	// Out is what the server takes instead of the updates' mean.
	Out []float32
	// Updates are what the clients sent, in the order of their slots and without those that
	// were left out; there is one at least. Weights are the clients' weights in the mean.
	Updates [][]float32
	Weights []float64
	// Params are the keys aggregator.*.
	Params *Aggregation

	run robust.Run
}

// Each calls f with spans of the coordinates, from several goroutines. The spans depend on
// the model alone.
func (h *Held) Each(f func(lo, hi int)) { h.run.Each(len(h.Out), f) }

// aggregators holds those that are registered, in their order.
var aggregators struct {
	sync.RWMutex
	all []Aggregator
}

// RegisterAggregator makes an aggregator known by its name, so that studies of this program
// can use it: aggregator.name = "name". The error says what is wrong with it.
func RegisterAggregator(a Aggregator) error {
	fail := func(problem string) error { return fmt.Errorf("fl: aggregator %q: %s", a.Name, problem) }
	if err := naming.CheckName("fl: aggregator", a.Name); err != nil {
		return err
	}
	switch {
	case a.Doc == "" || !naming.Fits(a.Doc+a.Paper):
		return fail("Doc must be a line, and Doc and Paper without |, for they stand in tables")
	case a.Factor != nil && a.Combine != nil:
		return fail("it has either Factor or Combine")
	}
	for _, name := range a.Uses {
		if !hasKey[Aggregation]("aggregator.", name) {
			return fail("uses the unknown key " + name)
		}
	}
	aggregators.Lock()
	defer aggregators.Unlock()
	if slices.ContainsFunc(aggregators.all, func(o Aggregator) bool { return o.Name == a.Name }) {
		return fail("the name is taken; choose another one")
	}
	aggregators.all = append(aggregators.all, a)
	return nil
}

// Aggregators returns the registered aggregators, the mean first.
func Aggregators() []Aggregator {
	aggregators.RLock()
	defer aggregators.RUnlock()
	return slices.Clone(aggregators.all)
}

// AggregatorNames returns their names: the values of aggregator.name.
func AggregatorNames() []string {
	return list.Of(Aggregators(), func(a Aggregator) string { return a.Name })
}

// keysOf returns the keys of a table.
func keysOf[T any](prefix string) []key.Key { return key.Of(reflect.TypeFor[T](), prefix) }

// hasKey reports whether a table has a key.
func hasKey[T any](prefix, name string) bool {
	return slices.ContainsFunc(keysOf[T](prefix), func(k key.Key) bool { return k.Name == name })
}

// Aggregator returns the aggregator that is named. The error names a key whose value is not
// allowed, or that it does not use.
func (p *Aggregation) Aggregator() (Aggregator, error) {
	all := Aggregators()
	if *p == (Aggregation{}) {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(a Aggregator) bool { return a.Name == p.Name })
	if i < 0 {
		return Aggregator{}, key.Unknown("aggregator.name", fmt.Sprintf("%.200s", p.Name), AggregatorNames())
	}
	a := all[i]
	given, unset := reflect.ValueOf(*p), reflect.ValueOf(DefaultAggregation())
	for _, k := range keysOf[Aggregation]("aggregator.")[1:] {
		value, uses := given.FieldByIndex(k.Index).Interface(), slices.Contains(a.Uses, k.Name)
		switch {
		case value == unset.FieldByIndex(k.Index).Interface() && uses && k.Check(unset) != nil:
			return a, &key.Error{Key: k.Name, Problem: fmt.Sprintf(" is not set: aggregator.name = %q needs it; it must be %s", a.Name, k.Want())}
		case value == unset.FieldByIndex(k.Index).Interface():
		case !uses:
			return a, &key.Error{Key: k.Name, Problem: fmt.Sprintf(" = %v: %s", value, a.Ignores(k.Name))}
		}
		if !uses {
			continue
		}
		if err := k.Check(given); err != nil {
			return a, err
		}
	}
	return a, nil
}

// Ignores returns what to say of a key of aggregator.* that the aggregator does not use; "" for
// one that it uses.
func (a *Aggregator) Ignores(name string) string {
	if name == "aggregator.name" || slices.Contains(a.Uses, name) {
		return ""
	}
	return fmt.Sprintf("not used with aggregator.name = %q; leave it out", a.Name)
}

// checkAggregator returns an error for what cannot be combined as configured.
func (c *Config) checkAggregator(a *Aggregator) error {
	name := "aggregator.name"
	text := fmt.Sprintf(" = %q: ", a.Name)
	lie := c.colludes()
	if lie != nil {
		name, text = StageAttack.String(), fmt.Sprintf(" = %q: attackers know the others' updates, ", lie.Name)
	}
	bad := func(problem string, args ...any) error {
		return &key.Error{Key: name, Problem: text + fmt.Sprintf(problem, args...)}
	}
	switch {
	case lie != nil && (c.Updates.Sparsify != "" || c.Updates.Quantize != ""):
		return bad("which are not known before they are combined; leave out update.sparsify and update.quantize")
	case lie != nil && a.Factor != nil:
		return bad("which aggregator.name = %q does not hold; use another one", a.Name)
	case a.Factor == nil && a.Combine == nil && lie == nil:
		return nil
	case c.Privacy != nil:
		return bad("the noise of dp is for a sum of clipped updates; leave out dp, or use aggregator.name = \"mean\" without such attacks")
	case c.Method.updates() != "":
		return bad("%s", c.Method.updates())
	}
	return c.checkLeast(a, &c.Aggregation)
}

// checkLeast returns an error for rounds of too few clients.
func (c *Config) checkLeast(a *Aggregator, p *Aggregation) error {
	if a.Least == nil {
		return nil
	}
	updates := c.Time.Updates(c.Cohort)
	if least := a.Least(p, updates); updates < least {
		return &key.Error{Key: "aggregator.name", Problem: fmt.Sprintf(" = %q: needs %d clients in a round at least, not %d; raise cohort", a.Name, least, updates)}
	}
	return nil
}

// colludes returns the attack for which the server holds all updates, nil for none.
func (c *Config) colludes() *Transform {
	chain, err := c.Updates.Chain()
	if err != nil || len(chain) == 0 || chain[0].Collude == nil {
		return nil
	}
	return &chain[0]
}

// holds reports whether the server holds the clients' updates one by one.
func (c *Config) holds() bool {
	a, err := c.Aggregation.Aggregator()
	return err == nil && a.Combine != nil || c.colludes() != nil
}

// bounded scales a client's update of a norm as the aggregator wants.
func (t *Trial) bounded(c *contribution, norm float64) {
	if t.engine.aggregator.Factor == nil {
		return
	}
	factor := t.engine.aggregator.Factor(&t.aggregation, norm)
	if factor == 1 || !det.Finite(factor) {
		return
	}
	c.scale = cmp.Or(c.scale, 1)
	c.scale *= factor
	for _, s := range t.engine.aside {
		kernels.Scale(c.delta[s.Lo:s.Hi], float32(1/max(factor, 0x1p-64))) // only their means count
	}
}
