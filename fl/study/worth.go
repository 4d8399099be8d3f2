package study

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// worth is what a trial comes to in several objectives and constraints. The zero value stands
// for a study with one objective.
type worth struct {
	values map[string]float64
	means  map[string]*result.Discounted // of what is of a model, since the last rung

	down, up float64 // of a client, in a private study
	unknown  int     // rounds without clients before the first one with some
}

// add takes in a round with its trial's score after it. of returns the round's own value of
// a metric: of a summed one what the round adds to it.
func (w *worth) add(aims tuners.Aims, score, discount float64, of func(metric string) float64) {
	if !aims.Many() {
		return
	}
	if w.values == nil {
		w.values, w.means = map[string]float64{}, map[string]*result.Discounted{}
	}
	for i, name := range aims.Metrics() {
		switch {
		case i == 0:
			w.values[name] = score
		case name == tuners.MetricEpsilon: // at rungs alone
			w.values[name] = 0
		case tuners.Summed(name):
			w.values[name] += of(name)
		default:
			w.means[name] = cmp.Or(w.means[name], &result.Discounted{})
			w.values[name] = w.means[name].Add(of(name), discount)
		}
	}
}

// rung closes a rung after a number of rounds, and returns what the trial comes to at it.
// account is the account of a private study.
func (w *worth) rung(account *config.Account, rounds int) map[string]float64 {
	if _, ok := w.values[tuners.MetricEpsilon]; ok {
		w.values[tuners.MetricEpsilon] = account.Spent(rounds)
	}
	w.means = map[string]*result.Discounted{}
	return maps.Clone(w.values)
}

// roundValue is what a recorded round adds to a metric, or measured of it.
func roundValue(rec *record.Round) func(metric string) float64 {
	return func(metric string) float64 {
		switch metric {
		case tuners.MetricSecondsSimulated:
			return rec.Seconds.Float()
		case tuners.MetricBytesUp:
			return float64(rec.Up)
		case tuners.MetricBytesDown:
			return float64(rec.Down)
		}
		return float64(rec.Values[metric])
	}
}

// expected is roundValue in a private study: bytes are for the expected cohort, whatever
// the number of clients that came, as all clients send and receive the same.
func (w *worth) expected(rec *record.Round, cohort int) func(metric string) float64 {
	n, rounds := float64(len(rec.Clients)), 1.0
	switch {
	case n > 0:
		rounds += float64(w.unknown)
		w.down, w.up, w.unknown = float64(rec.Down)/n, float64(rec.Up)/n, 0
	case w.up == 0:
		w.unknown++
	}
	return func(metric string) float64 {
		switch metric {
		case tuners.MetricBytesUp:
			return w.up * float64(cohort) * rounds
		case tuners.MetricBytesDown:
			return w.down * float64(cohort) * rounds
		}
		return roundValue(rec)(metric)
	}
}

// compare fills in what a result tells of several objectives and constraints: which trials
// are feasible, and which of those that completed no other one beats.
func compare(r *result.Result, aims tuners.Aims) {
	if !aims.Many() {
		return
	}
	for _, o := range aims.Objectives {
		r.Objectives = append(r.Objectives, o.Metric)
	}
	values := make([]map[string]float64, len(r.Trials))
	for i := range r.Trials {
		t := &r.Trials[i]
		if n := len(t.Rungs); n > 0 {
			t.Values = t.Rungs[n-1].Values
		}
		t.Infeasible = t.Values != nil && aims.Violation(t.Values) > 0
		if t.State == result.Completed {
			values[i] = t.Values
		}
	}
	for _, i := range result.Front(aims, values) {
		r.Trials[i].Front = true
		r.Front = append(r.Front, r.Trials[i].Number)
	}
}

// eligible returns the trials among which a study with constraints chooses: those that are
// feasible, or where there are none, the one that is the least so.
func eligible[T survivor](trials []T, aims tuners.Aims) []T {
	if len(aims.Constraints) == 0 {
		return trials
	}
	all := slices.DeleteFunc(slices.Clone(trials), func(t T) bool { return !t.alive() })
	least := map[T]float64{}
	for _, t := range all {
		least[t] = aims.Violation(t.valued())
	}
	slices.SortStableFunc(all, func(a, b T) int {
		switch x, y := least[a], least[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	n := 0
	for n < len(all) && least[all[n]] == 0 {
		n++
	}
	return all[:min(max(n, 1), len(all))]
}
