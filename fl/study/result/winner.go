package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/pareto"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// mostParams is the number of hyperparameters, mostCells that of a table's cells, that a line shows.
const mostParams, mostCells = 10, 4

// Place is what decides about a trial's place among others.
type Place struct {
	// Won is set for the trial whose model is returned, or is the best one so far.
	Won bool
	// Final is its best score as a finalist, nil if it was not one.
	Final *float64
	// Rung is the round of its last rung, and Score its score there; 0 and nil before the first.
	Rung  int
	Score *float64
	// Rounds are those that it has run.
	Rounds int
}

// Compare returns less than 0 if p comes before q: the winner, then finalists by their scores on all
// clients, then the others by their last rung and, at the same one, by their scores there.
func (p Place) Compare(q Place, aim tuners.Objective) int {
	by := func(a, b *float64) int {
		switch {
		case b != nil && (a == nil || aim.Better(*b, *a)):
			return 1
		case a != nil && (b == nil || aim.Better(*a, *b)):
			return -1
		}
		return 0
	}
	switch {
	case p.Won != q.Won && p.Won:
		return -1
	case p.Won != q.Won:
		return 1
	}
	return cmp.Or(by(p.Final, q.Final), q.Rung-p.Rung, by(p.Score, q.Score), q.Rounds-p.Rounds)
}

// Assigned writes the params of the keys, as --set takes them.
func Assigned(p tuners.Params, keys []string) string {
	var parts []string
	for _, key := range keys {
		if v, ok := p[key]; ok {
			parts = append(parts, key+"="+ValueText(v))
		}
	}
	if more := len(parts) - mostParams; more > 0 {
		parts = append(parts[:mostParams], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, " ")
}

// Varying returns the hyperparameters in which trials differ, all those of a single one, in their
// order.
func Varying(trials []tuners.Params) []string {
	keys := slices.Concat(list.Of(trials, tuners.Params.Keys)...)
	slices.Sort(keys)
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool {
		first, ok := trials[0][key]
		return len(trials) > 1 && !slices.ContainsFunc(trials, func(p tuners.Params) bool {
			v, has := p[key]
			return has != ok || v != first
		})
	})
}

// ValueText writes the value of a hyperparameter, a number with three digits.
func ValueText(v tuners.Value) string {
	if x, ok := v.Float(); ok {
		return fmt.Sprintf("%.3g", x)
	}
	return v.String()
}

// Why says in a line which model the study returned, by which score, and what the next one had.
func (r *Result) Why(c *config.Config) string {
	scale, best := ScaleOf(c, r.Measure), &r.Best
	text := fmt.Sprintf("%s after %s: %s validation %s, ", r.Named(best.Number), oneline.Count(best.Round, "round"), scale.Text(best.Score), scale.Metric)
	rank := "the lowest of "
	if scale.Maximize {
		rank = "the highest of "
	}
	if len(r.Finalists) == 0 {
		return text + rank + "all rounds, each scored on one cohort, which is optimistic"
	}
	on := oneline.Count(r.Finalists[0].Clients, "client")
	if most := c.Finalists.Clients; most == 0 || r.Finalists[0].Clients < most {
		on = "all " + on
	}
	if len(r.Finalists) == 1 {
		return text + "the only finalist, scored on " + on
	}
	text += fmt.Sprintf("%s%d finalists scored on %s", rank, len(r.Finalists), on)
	var next *Finalist
	for i := range r.Finalists {
		if f := &r.Finalists[i]; f.Trial != best.Number && (next == nil || c.Aim().Better(f.Score, next.Score)) {
			next = f
		}
	}
	if next == nil {
		return text + ", all of this trial"
	}
	return text + fmt.Sprintf("; next %s, %s", scale.Text(next.Score), r.Named(next.Trial))
}

// Named is what the trial with a number is called.
func (r *Result) Named(number int) string {
	if number >= len(r.Trials) {
		return "the configured values"
	}
	return fmt.Sprintf("trial %d", number)
}

// Took is how many seconds the study has taken, with its comparison with random search.
func (r *Result) Took() float64 {
	if r.Baseline != nil {
		return r.Seconds + r.Baseline.Seconds
	}
	return r.Seconds
}

// Hyperparameters writes those of the model in which the study's trials differ or which a client
// tuner has changed, as --set takes them, and with what a client tuner started, empty where that is the same or there
// is none.
func (c *Chosen) Hyperparameters(trials []TrialResult) [2]string {
	all := list.Made(len(trials), func(i int) tuners.Params { return trials[i].Params })
	keys := Varying(all)
	for key, v := range c.Params {
		if from, ok := c.StartedFrom[key]; ok && from != v && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	keys = slices.DeleteFunc(keys, func(key string) bool { _, ok := c.Params[key]; return !ok }) // each client's own
	ended, began := Assigned(c.Params, keys), Assigned(c.StartedFrom, keys)
	for i, cell := range c.Table {
		if i == mostCells {
			ended += fmt.Sprintf("; and %d more cells", len(c.Table)-mostCells)
			break
		}
		ended = strings.TrimPrefix(fmt.Sprintf("%s; HI %v, %v samples: %s", ended, cell.Keys[tuners.KeyHI], cell.Keys[tuners.KeySamples], Assigned(cell.Params, cell.Params.Keys())), "; ")
	}
	if began == ended {
		began = ""
	}
	if c.Probability > 0 {
		ended += fmt.Sprintf(" (probability %.2f)", c.Probability)
	}
	return [2]string{ended, began}
}

// Front returns the indices of trials on the Pareto front: of those that are feasible, the
// ones that no other beats in all objectives. values are theirs by metric, nil for a trial
// that does not count.
func Front(aims tuners.Aims, values []map[string]float64) []int {
	var able, front []int
	var points [][]float64
	for i, v := range values {
		if v != nil && aims.Violation(v) == 0 {
			able, points = append(able, i), append(points, aims.Losses(v))
		}
	}
	for k, rank := range pareto.Ranks(points) {
		if rank == 0 {
			front = append(front, able[k])
		}
	}
	return front
}
