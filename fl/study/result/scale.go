package result

import (
	"fmt"
	"math"
	"strconv"

	scores "github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// Scale describes how scores of an objective are written for people: shares in percent,
// other numbers as they are. Records and exports hold shares as fractions.
type Scale struct {
	// Metric is what is measured, such as "error"; Target is the target of the objective.
	Metric, Target string
	// Of is the metric's name where scores are taken of probabilities, such as "roc_auc".
	Of string
	// Percent is set if scores are shares.
	Percent bool
	// Maximize is set if higher scores are better.
	Maximize bool
	// Within is, for times to a goal, the seconds above which a score belongs to a trial that
	// missed it; else 0.
	Within float64
}

// ScaleOf returns the scale of a study's scores. measure is Errors.Measure of its
// models, see MeasureOf.
func ScaleOf(c *config.Config, measure string) Scale {
	aim := c.Aim()
	s := Scale{Metric: aim.Metric, Target: aim.Target, Maximize: aim.Direction == tuners.Maximize}
	switch aim.Metric {
	case "", tuners.MetricError:
		s.Metric, s.Percent = MeasureName(measure)
	case tuners.MetricAccuracy, tuners.MetricRecall:
		s.Percent = true
	case tuners.MetricRMSE:
		s.Metric = "RMSE"
	case tuners.MetricMAE:
		s.Metric = "MAE"
	case tuners.MetricR2:
		s.Metric = "R2"
	case tuners.MetricSecondsToGoal:
		s.Metric, s.Within = "time to goal", float64(c.Budget.TrialSeconds)
	default:
		s.Of, s.Metric = aim.Metric, scores.Title(aim.Metric)
	}
	return s
}

// String names the scores: "validation error (personalized)".
func (s Scale) String() string {
	if s.Metric == "" {
		return "validation score"
	}
	return "validation " + s.Metric + " (" + s.Target + ")"
}

// Direction describes which scores are better.
func (s Scale) Direction() string {
	if s.Maximize {
		return "higher is better"
	}
	return "lower is better"
}

// Unit is the unit of the scores, empty for plain numbers.
func (s Scale) Unit() string {
	if s.Percent {
		return "%"
	}
	if s.Within > 0 {
		return "s"
	}
	return ""
}

// Text writes a score, a dash for one that is not there.
func (s Scale) Text(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case s.Percent:
		return fmt.Sprintf("%.2f %%", 100*x)
	case s.Within > 0 && x > s.Within:
		return fmt.Sprintf("missed (%.2f %% error)", 100*(x/s.Within-1))
	case s.Within > 0:
		return Number(x) + " s"
	}
	return Number(x)
}

// Number writes a number for people with four significant digits, in whole digits up to 1e15.
func Number(x float64) string {
	text := strconv.FormatFloat(x, 'g', 4, 64)
	if a := math.Abs(x); a >= 1e4 && a < 1e15 {
		x, _ = strconv.ParseFloat(text, 64) // that it wrote itself
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return text
}

// ErrorText writes an error of a measure, see Errors.Measure: a share in percent. It is a dash for
// one that is not there.
func ErrorText(measure string, x float64) string {
	_, share := MeasureName(measure)
	return Scale{Percent: share}.Text(x)
}

// TextOf is Text of a score that may be missing.
func (s Scale) TextOf(x *float64) string {
	if x == nil {
		return "-"
	}
	return s.Text(*x)
}
