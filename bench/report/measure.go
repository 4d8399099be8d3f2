package report

import (
	"math"
	"strconv"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/tuners"
)

// measured is how errors are written.
type measured struct {
	name, unit string  // of an axis: "error" and ", %"
	by         float64 // what they are multiplied by
}

// measure says what the study's errors are, see study.Errors: of one that has not
// ended, as far as its settings tell.
func (s *Study) measure() string {
	switch c := s.Config; {
	case s.Tune != nil:
		return s.Tune.Measure
	case s.Run != nil:
		return s.Run.Measure
	case c.Loss.Name == "squared", c.Loss.Name == "huber", c.Objective == tuners.MetricRMSE, c.Objective == tuners.MetricMAE, c.Objective == tuners.MetricR2:
		return study.MeasureRMSE
	case c.Loss.Name == "sigmoid", c.Objective == tuners.MetricRecall:
		return study.MeasureRecall
	}
	return ""
}

// errors says how the study's errors are written.
func (s *Study) errors() measured {
	name, share := study.MeasureName(s.measure())
	if !share {
		return measured{name, "", 1}
	}
	return measured{name, ", %", 100}
}

// text writes an error, nothing for one that is not there.
func (m measured) text(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case m.unit == "":
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(m.by*x, 'f', 2, 64) + " %"
}
