// Package record keeps the states of the built-in tuners' sessions as JSON.
package record

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// Record is the recorded form of a session's state. A session embeds it, calls Save
// at the end of each call that changes the state, and has the method State from it.
type Record struct{ bytes []byte }

// Read fills a state, a pointer, from what the tuner called name has recorded.
func Read(name string, recorded []byte, state any) error {
	if err := json.Unmarshal(recorded, state); err != nil {
		return fmt.Errorf("%s: recorded state is damaged: %w", name, err)
	}
	return nil
}

// Begin reads what the tuner of a name recorded, if it did, and keeps the state.
func (r *Record) Begin(name string, recorded []byte, state any) error {
	if recorded != nil {
		if err := Read(name, recorded, state); err != nil {
			return err
		}
	}
	return r.Save(state)
}

// Save records a state, a pointer: what it points to is read now, after the calls
// that stand before it in a return statement.
func (r *Record) Save(state any) (err error) {
	r.bytes, err = json.Marshal(state)
	return err
}

// State returns what was saved last.
func (r *Record) State() []byte { return r.bytes }

// Outcome is what a trial's last report said, as states hold it.
type Outcome struct {
	Reported bool    `json:"reported,omitempty"` // since it was last sent on
	Failed   bool    `json:"failed,omitempty"`
	Score    float64 `json:"score,omitempty"`
	// Losses are the values of several objectives, lower is better; Violation is what
	// constraints are exceeded by.
	Losses    []float64 `json:"losses,omitempty"`
	Violation float64   `json:"violation,omitempty"`
}

// OutcomeOf returns the outcome that a report tells. A report without a usable score is
// a failure.
func OutcomeOf(r tuners.TrialReport) Outcome {
	if r.Unusable() {
		return Outcome{Reported: true, Failed: true}
	}
	return Outcome{Reported: true, Score: r.Score}
}

// OutcomeIn returns the outcome that a report tells in a study's objectives and constraints.
// A value that is not finite makes it a failure.
func OutcomeIn(aims tuners.Aims, r tuners.TrialReport) Outcome {
	o := OutcomeOf(r)
	if o.Failed || !aims.Many() {
		return o
	}
	o.Losses, o.Violation = aims.Losses(r.Values), aims.Violation(r.Values)
	for _, x := range append([]float64{o.Violation}, o.Losses...) {
		if !det.Finite(x) {
			return Outcome{Reported: true, Failed: true}
		}
	}
	return o
}

// PriorOf returns the outcome of a trial of a finished study.
func PriorOf(aims tuners.Aims, p tuners.Prior) Outcome {
	return OutcomeIn(aims, tuners.TrialReport{Score: p.Values[aims.Objectives[0].Metric], Values: p.Values})
}

// Better reports whether a trial, which did not fail, comes before another one: what
// constraints are exceeded by less, then the better score.
func (o Outcome) Better(than Outcome, aim tuners.Objective) bool {
	if o.Violation != than.Violation {
		return o.Violation < than.Violation
	}
	return aim.Better(o.Score, than.Score)
}

// Number returns the score, NaN of a trial that failed.
func (o Outcome) Number() float64 {
	if o.Failed {
		return math.NaN()
	}
	return o.Score
}
