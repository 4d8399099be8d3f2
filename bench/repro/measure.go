package repro

import (
	"math"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// units are the errors of result.Errors.Measure as units and axes name them.
var units = map[string]struct{ error, accuracy, percent string }{
	"":                   {"error", "accuracy", ", %"},
	result.MeasureRecall: {"1 - recall", "recall", ", %"},
	result.MeasureRMSE:   {"RMSE", "RMSE", ""},
}

// regression says that the errors belong to a regression, which are no shares.
func (e *End) regression() bool { return e.Measure == result.MeasureRMSE }

// error is an error as reports show it: a share in percent, that of a regression as
// it is.
func (e *End) error(x float64) float64 {
	if e.regression() {
		return x
	}
	return 100 * x
}

// accuracy is what an error leaves of the whole, in percent; NaN for a regression, which
// has none.
func (e *End) accuracy(x float64) float64 {
	if e.regression() {
		return math.NaN()
	}
	return 100 * (1 - x)
}

// byLoss says that the study's scores are validation losses, not errors.
func (m *Metrics) byLoss() bool {
	return strings.Contains(m.Head.Config, "\nobjective = \""+tuners.MetricLoss+"\"\n")
}

// measuredBy returns the cell as it is called where errors are of another measure than
// the paper's: its number is no longer beside a published one.
func (c Cell) measuredBy(measure string) Cell {
	if measure == "" {
		return c
	}
	paper, words := c.Unit, units[measure]
	switch {
	case measure != result.MeasureRMSE:
		c.Unit = strings.NewReplacer("error", words.error, "accuracy", words.accuracy).Replace(c.Unit)
	case strings.Contains(c.Unit, "error"): // there are no accuracies
		c.Unit = strings.ReplaceAll(strings.TrimPrefix(c.Unit, "% "), "error", words.error)
	}
	if c.Unit != paper && c.Published != nil {
		c.Published, c.Instead = nil, c.Published.Or("")+" "+paper
	}
	return c
}
