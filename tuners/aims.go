package tuners

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// Metrics that a study with several objectives, or with constraints, may have beside those of
// its score. The last four are of all rounds that a trial has run.
const (
	MetricErrorP90         = "error_p90"            // 90th percentile of the clients' errors in a round's cohort
	MetricErrorWorst       = "error_worst"          // mean of the highest tenth of these errors, at least one
	MetricErrorVariance    = "error_variance"       // their variance
	MetricJain             = "jain"                 // Jain's index of these clients' accuracies, in (0, 1]
	MetricErrorUnseen      = "error_unseen"         // error of the global model on clients that never train
	MetricUnseenAdapted    = "error_unseen_adapted" // the same of the models that these clients adapt
	MetricSecondsSimulated = "seconds_simulated"    // simulated seconds
	MetricBytesUp          = "bytes_up"             // bytes that clients sent
	MetricBytesDown        = "bytes_down"           // bytes that clients received
	MetricEpsilon          = "epsilon"              // privacy cost of a trial's training
)

// Summed reports whether a metric is of all rounds that a trial has run, rather than of a
// model. Such metrics are minimized.
func Summed(metric string) bool {
	switch metric {
	case MetricSecondsSimulated, MetricBytesUp, MetricBytesDown, MetricEpsilon:
		return true
	}
	return false
}

// Constraint is a bound on a metric of a trial. A trial beyond it is not feasible and comes
// after all that are.
type Constraint struct {
	Metric string
	Bound  float64
	Least  bool // the metric has to be at least Bound, else at most
}

// ParseConstraint reads a constraint such as "bytes_up <= 1e9" or "accuracy >= 0.5".
func ParseConstraint(text string) (Constraint, error) {
	parts := strings.Fields(text)
	if len(parts) == 3 && (parts[1] == "<=" || parts[1] == ">=") {
		bound, err := strconv.ParseFloat(parts[2], 64)
		if err == nil && det.Finite(bound) {
			return Constraint{Metric: parts[0], Bound: bound, Least: parts[1] == ">="}, nil
		}
	}
	return Constraint{}, fmt.Errorf("must be a metric, <= or >=, and a number, such as \"bytes_up <= 1e9\", not %q", Plain(text, 200))
}

// String writes the constraint as ParseConstraint reads it.
func (c Constraint) String() string {
	sign := "<="
	if c.Least {
		sign = ">="
	}
	return c.Metric + " " + sign + " " + strconv.FormatFloat(c.Bound, 'g', -1, 64)
}

// Excess is how far a value lies beyond the bound, as a share of it unless that is 0: 0
// within, infinite for NaN.
func (c Constraint) Excess(x float64) float64 {
	over := x - c.Bound
	if c.Least {
		over = c.Bound - x
	}
	switch {
	case x != x:
		return math.Inf(1)
	case over <= 0:
		return 0
	case c.Bound != 0:
		return over / max(c.Bound, -c.Bound)
	}
	return over
}

// Aims are all that a study wants of its trials.
type Aims struct {
	Objectives  []Objective // at least one; the study returns a model that is good in the first
	Constraints []Constraint
}

// Many reports whether trials are told apart by more than a score.
func (a Aims) Many() bool { return len(a.Objectives) > 1 || len(a.Constraints) > 0 }

// Metrics are the metrics of objectives and constraints, each once, in their order.
func (a Aims) Metrics() []string {
	names := list.Of(a.Objectives, func(o Objective) string { return o.Metric })
	for _, c := range a.Constraints {
		if !slices.Contains(names, c.Metric) {
			names = append(names, c.Metric)
		}
	}
	return names
}

// Losses are the values of the objectives in their order, turned so that lower is better.
// A value that is missing is NaN.
func (a Aims) Losses(values map[string]float64) []float64 {
	out := make([]float64, len(a.Objectives))
	for i, o := range a.Objectives {
		x, ok := values[o.Metric]
		switch {
		case !ok:
			x = math.NaN()
		case o.Direction == Maximize:
			x = -x
		}
		out[i] = x
	}
	return out
}

// Violation is the sum of what the constraints are exceeded by, 0 for a feasible trial.
func (a Aims) Violation(values map[string]float64) float64 {
	sum := 0.0
	for _, c := range a.Constraints {
		x, ok := values[c.Metric]
		if !ok {
			x = math.NaN()
		}
		sum += c.Excess(x)
	}
	return sum
}

// Prior is what a finished study found for params of this study's space.
type Prior struct {
	Params Params             `json:"params"`
	Round  int                `json:"round"`           // rounds that the trial had run
	Whole  bool               `json:"whole,omitempty"` // they are all that a trial of its study has
	Values map[string]float64 `json:"values"`          // by metric: those of the objectives and constraints
}
