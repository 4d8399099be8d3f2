package trial

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// The probes that a private client tuner may observe: one error, and the weight that
// clients have, which is 1 for all.
var (
	privateErrors = []string{"val_error_after", "val_error_before"}
	privateWeight = "examples_val"
)

// Private reports whether a probe can be private: errors, whose sums get noise, the number
// of validation samples, which is 1 for all, and losses, which a session must not ask for.
func Private(name string) bool {
	return name == privateWeight || slices.Contains(privateErrors, name) || name == "val_loss_after" || name == "val_loss_before"
}

// private is how the clients of a private round took its planned slots.
type private struct {
	group []int // by planned slot: equal numbers are equal plans
	taken []int // by client: its slot
}

// checkPrivate returns an error for probes of a session that a private study cannot give.
func (c *ClientTuner) checkPrivate(probes []string) error {
	seen := 0
	for _, name := range probes {
		switch {
		case slices.Contains(privateErrors, name):
			seen++
		case c.Noise > 0 && name != privateWeight:
			return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(": it observes %s, which cannot be private", name)}
		}
	}
	if c.Noise > 0 && seen > 1 {
		return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(": it observes %s, but in a private study it may "+
			"observe one error of each client; for fedex set client_tuner.options.diff = false", strings.Join(privateErrors,
			" and "))}
	}
	return nil
}

// takeSlots replaces a client tuner's plan for the expected cohort by one for the clients
// that came.
func (t *Trial) takeSlots(plan *fl.Plan, round int) {
	slots := t.study.Meter.Config.Cohort
	t.private = private{group: make([]int, slots), taken: t.study.Engine.PrivateSlots(t.Number, round, slots)}
	p := &t.private
	if len(plan.Clients) != slots {
		return // all slots have one plan
	}
	var distinct []fl.ClientParams
	for i, c := range plan.Clients {
		same := func(d fl.ClientParams) bool { return reflect.DeepEqual(c, d) }
		if p.group[i] = slices.IndexFunc(distinct, same); p.group[i] < 0 {
			p.group[i] = len(distinct)
			distinct = append(distinct, c)
		}
	}
	all := plan.Clients
	if len(p.taken) > 0 || len(all) == 0 {
		plan.Clients = nil
	} else {
		plan.Clients = all[:1] // nobody came
	}
	plan.Clients = append(plan.Clients, list.Of(p.taken, func(slot int) fl.ClientParams { return all[slot] })...)
}

// privatize replaces what a client tuner observes of a private round: each planned slot has
// the private error of all slots with its plan.
func (t *Trial) privatize(rec *record.Round, round int) {
	if t.session == nil || t.study.Client.Noise == 0 {
		return
	}
	p := t.private
	slots := len(p.group)
	rec.Private = map[string][]record.Real{privateWeight: slices.Repeat([]record.Real{1}, slots)}
	for _, name := range privateErrors {
		values, ok := rec.Probes[name]
		if !ok {
			continue
		}
		errors := list.Made(len(p.taken), func(i int) float64 { return float64(values[i]) })
		for _, i := range rec.DroppedSlots {
			errors[i] = 1
		}
		for _, x := range t.study.Engine.PrivateErrors(t.Number, round, p.group, p.taken, errors, t.study.Client.Noise) {
			rec.Private[name] = append(rec.Private[name], record.Real(x))
		}
	}
	rec.Probes, rec.Aggregates = nil, nil
}
