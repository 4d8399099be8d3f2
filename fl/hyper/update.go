package hyper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// Update has the keys of update.* that a search space can contain.
type Update struct {
	// share of the values that a client sends with update.sparsify
	Keep float64 `toml:"keep" tune:"yes" in:"(0, 1]" also:"ratio k density"`
	// bits of a value with update.quantize, of which one is the sign
	Bits int `toml:"bits" tune:"yes" in:"[2, 8]" also:"nbits num_bits"`
}

// Aggregation has the keys of aggregator.* that a search space can contain.
type Aggregation struct {
	// share of the values of each coordinate that trimmed drops at each end
	Trim float64 `toml:"trim" tune:"yes" in:"[0, 0.5)" also:"beta"`
	// largest share of a round's clients that krum and multikrum expect to be wrong
	Wrong float64 `toml:"wrong" tune:"yes" in:"[0, 0.5)" also:"f byzantine attackers"`
	// norm to which norm_bound clips each update; required, here or in the search space
	Bound float64 `toml:"bound" tune:"yes" in:"(0, 1e9]" also:"clip norm threshold"`
	// steps of the algorithm of Weiszfeld of rfa
	Steps int `toml:"steps" tune:"yes" in:"[1, 1000]" also:"iterations"`
	// least distance by which rfa divides
	Least float64 `toml:"least" tune:"yes" in:"(0, 1]" also:"nu smoothing"`
}

// FindTunable returns a hyperparameter that a search space may contain.
func FindTunable(name string) (Param, bool) {
	if i := slices.IndexFunc(others, func(p Param) bool { return p.Name == name }); i >= 0 {
		return others[i], true
	}
	p, ok := Find(name)
	return p, ok && p.Tunable
}

// Unknown returns the error for an unknown hyperparameter.
func Unknown(name string) error {
	var known []key.Name
	for _, p := range slices.Concat(table, others) {
		if p.Tunable {
			known = append(known, key.Name{Name: p.Name, Also: p.Also})
		}
	}
	return fmt.Errorf("unknown hyperparameter %q%s; `fedfast list keys` says which keys are tunable", name, key.DidYouMean(name, known))
}

// With returns h with the hyperparameters in params overridden and the choices below
// tuners.ArchPrefix applied. Names in adds, which belong to a client tuner, are ignored;
// any other unknown name is an error, as is a value of the wrong type.
func (h Values) With(params tuners.Params, adds map[string]bool) (Values, error) {
	for _, name := range params.Keys() {
		p, ok := FindTunable(name)
		switch {
		case !ok && (adds[name] || strings.HasPrefix(name, tuners.ArchPrefix)):
			continue
		case !ok:
			return h, Unknown(name)
		}
		if err := p.Set(&h, params[name].Any()); err != nil {
			return h, err
		}
	}
	return h.withPick(params)
}

// Of returns the value in h as a tuner has it.
func (p Param) Of(h Values) tuners.Value {
	v, _ := tuners.ValueOf(p.Value(&h)) // of a kind that values have
	return v
}

// Matching returns the tunable hyperparameters of h whose keys match one of the patterns
// of a tuner's Description.Controls.
func (h Values) Matching(patterns []string) tuners.Params {
	params := tuners.Params{}
	for _, p := range Table() {
		if p.Tunable && tuners.Matches(p.Name, patterns...) {
			params[p.Name] = p.Of(h)
		}
	}
	return params
}
