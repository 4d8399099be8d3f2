package study

import (
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/key"
	"github.com/fedfast/fedfast/tuners"
)

// tunable returns a hyperparameter that a search space may hold.
func tunable(name string) (hyper.Param, bool) {
	p, ok := hyper.Find(name)
	return p, ok && p.Tunable
}

// unknownHyper is the error for a dimension or a param that no hyperparameter has.
func unknownHyper(name string) error {
	var known []key.Name
	for _, p := range hyper.Table() {
		if p.Tunable {
			known = append(known, key.Name{Name: p.Name, Also: p.Also})
		}
	}
	return fmt.Errorf("unknown hyperparameter %q%s; tunable are %s", name, key.DidYouMean(name, known), strings.Join(hyper.Tunable(), ", "))
}

// with returns h with the params that it knows overridden; params of the client
// tuner's own (those in adds) pass.
func with(h hyper.Values, params tuners.Params, adds map[string]bool) (hyper.Values, error) {
	for _, name := range params.Keys() {
		p, ok := tunable(name)
		switch {
		case !ok && adds[name]:
			continue
		case !ok:
			return h, unknownHyper(name)
		}
		if err := p.Set(&h, params[name].Any()); err != nil {
			return h, err
		}
	}
	return h, nil
}

// matching returns the hyperparameters of h whose keys match one of the patterns
// of a tuner's Description.Controls.
func matching(h hyper.Values, patterns []string) tuners.Params {
	params := tuners.Params{}
	for _, p := range hyper.Table() {
		switch {
		case !p.Tunable || !tuners.Matches(p.Name, patterns...):
		case p.Truth():
			params[p.Name] = tuners.Bool(p.Get(&h) != 0)
		default:
			params[p.Name] = tuners.Num(p.Get(&h))
		}
	}
	return params
}

// checkHyper returns an error that names the hyperparameter that is out of its
// range or that the method cannot use.
func checkHyper(h hyper.Values, m fl.Method) error { return fl.CheckParams(m, h.Client, h.Server) }
