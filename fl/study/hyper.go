package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/tuners"
)

// hyper is the pair (c, b) that a trial's params override.
type hyper struct {
	client fl.ClientParams
	server fl.ServerParams
}

// lever reads and writes one hyperparameter.
type lever struct {
	get func(*hyper) tuners.Value
	set func(*hyper, tuners.Value) error
}

// levers holds the hyperparameters by their keys. Every key here can be a
// dimension of a search space.
var levers = map[string]lever{
	"client.lr":              number(func(h *hyper) *float64 { return &h.client.LR }),
	"client.momentum":        number(func(h *hyper) *float64 { return &h.client.Momentum }),
	"client.weight_decay":    number(func(h *hyper) *float64 { return &h.client.WeightDecay }),
	"client.mu":              number(func(h *hyper) *float64 { return &h.client.Mu }),
	"client.epochs":          number(func(h *hyper) *float64 { return &h.client.Epochs }),
	"client.steps":           whole(func(h *hyper) *int { return &h.client.Steps }),
	"client.batch":           whole(func(h *hyper) *int { return &h.client.Batch }),
	"client.dropout":         number(func(h *hyper) *float64 { return &h.client.Dropout }),
	"client.lambda":          number(func(h *hyper) *float64 { return &h.client.Lambda }),
	"client.personal_lr":     number(func(h *hyper) *float64 { return &h.client.PersonalLR }),
	"client.personal_epochs": number(func(h *hyper) *float64 { return &h.client.PersonalEpochs }),
	"client.head_epochs":     number(func(h *hyper) *float64 { return &h.client.HeadEpochs }),
	"client.inner_lr":        number(func(h *hyper) *float64 { return &h.client.InnerLR }),
	"client.inner_steps":     whole(func(h *hyper) *int { return &h.client.InnerSteps }),
	"client.first_order":     truth(func(h *hyper) *bool { return &h.client.FirstOrder }),
	"client.burn_in":         whole(func(h *hyper) *int { return &h.client.BurnIn }),
	"client.window":          whole(func(h *hyper) *int { return &h.client.Window }),
	"client.rho":             number(func(h *hyper) *float64 { return &h.client.Rho }),
	"client.width":           number(func(h *hyper) *float64 { return &h.client.Width }),
	"server.lr":              number(func(h *hyper) *float64 { return &h.server.LR }),
	"server.momentum":        number(func(h *hyper) *float64 { return &h.server.Momentum }),
	"server.decay":           number(func(h *hyper) *float64 { return &h.server.Decay }),
	"server.beta1":           number(func(h *hyper) *float64 { return &h.server.Beta1 }),
	"server.beta2":           number(func(h *hyper) *float64 { return &h.server.Beta2 }),
	"server.tau":             number(func(h *hyper) *float64 { return &h.server.Tau }),
	"server.alpha":           number(func(h *hyper) *float64 { return &h.server.Alpha }),
	"server.weighted":        truth(func(h *hyper) *bool { return &h.server.Weighted }),
	"server.burn_in":         whole(func(h *hyper) *int { return &h.server.BurnIn }),
}

func number(field func(*hyper) *float64) lever {
	return lever{
		get: func(h *hyper) tuners.Value { return tuners.Num(*field(h)) },
		set: func(h *hyper, v tuners.Value) error {
			x, ok := v.Float()
			if !ok {
				return fmt.Errorf("must be a number, not %s", v)
			}
			*field(h) = x
			return nil
		},
	}
}

func whole(field func(*hyper) *int) lever {
	return lever{
		get: func(h *hyper) tuners.Value { return tuners.Num(float64(*field(h))) },
		set: func(h *hyper, v tuners.Value) error {
			x, ok := v.Float()
			if !ok || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
				return fmt.Errorf("must be a whole number, not %s", v)
			}
			*field(h) = int(x)
			return nil
		},
	}
}

func truth(field func(*hyper) *bool) lever {
	return lever{
		get: func(h *hyper) tuners.Value { return tuners.Bool(*field(h)) },
		set: func(h *hyper, v tuners.Value) error {
			x, ok := v.Truth()
			if !ok {
				return fmt.Errorf("must be true or false, not %s", v)
			}
			*field(h) = x
			return nil
		},
	}
}

// Tunable returns the keys that a search space may hold, sorted.
func Tunable() []string { return slices.Sorted(maps.Keys(levers)) }

// with returns h with the params that it knows overridden; params of the
// client tuner's own (those in adds) pass.
func (h hyper) with(params tuners.Params, adds map[string]bool) (hyper, error) {
	for _, key := range params.Keys() {
		lever, ok := levers[key]
		if !ok {
			if adds[key] {
				continue
			}
			return h, fmt.Errorf("unknown hyperparameter %q; tunable are %s", key, strings.Join(Tunable(), ", "))
		}
		if err := lever.set(&h, params[key]); err != nil {
			return h, fmt.Errorf("%s: %w", key, err)
		}
	}
	return h, nil
}

// matching returns the hyperparameters whose keys match one of the patterns of a
// tuner's Description.Controls.
func (h hyper) matching(patterns []string) tuners.Params {
	p := tuners.Params{}
	for key, lever := range levers {
		if tuners.Matches(key, patterns...) {
			p[key] = lever.get(&h)
		}
	}
	return p
}

// check returns an error that names the hyperparameter that is out of its
// range or that the method cannot use.
func (h hyper) check(m fl.Method) error {
	if err := h.client.Check(); err != nil {
		return err
	}
	if err := h.server.Check(); err != nil {
		return err
	}
	return m.Check(h.client, h.server)
}
