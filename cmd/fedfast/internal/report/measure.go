package report

import (
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// measured is how errors are written.
type measured struct {
	name, unit string  // of an axis: "error" and ", %"
	by         float64 // what they are multiplied by
}

// errors says how the study's errors are written.
func (s *Study) errors() measured {
	name, share := result.MeasureName(s.Measure())
	if !share {
		return measured{name, "", 1}
	}
	return measured{name, ", %", 100}
}

// measures is the target of the models whose test errors curves have, and models names these.
func (s *Study) measures() string { return s.Config.Measures(s.Mode) }
func (s *Study) models() string   { return config.Models(s.measures()) }
