package record

import (
	"math"

	"github.com/fedfast/fedfast/tuners"
)

// Outcome is what a trial's last report said, as states hold it.
type Outcome struct {
	Reported bool    `json:"reported,omitempty"` // since it was last sent on
	Failed   bool    `json:"failed,omitempty"`
	Score    float64 `json:"score,omitempty"`
}

// OutcomeOf returns the outcome that a report tells. A report without a usable score is
// a failure.
func OutcomeOf(r tuners.TrialReport) Outcome {
	if r.Unusable() {
		return Outcome{Reported: true, Failed: true}
	}
	return Outcome{Reported: true, Score: r.Score}
}

// Number returns the score, NaN of a trial that failed.
func (o Outcome) Number() float64 {
	if o.Failed {
		return math.NaN()
	}
	return o.Score
}
