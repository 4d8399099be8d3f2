// Package optuna writes studies as the log of Optuna's JournalStorage, so that
// Optuna and what is built on it open them. Optuna 3.1 and later read it.
package optuna

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/tuners"
)

// The operations of a log, by Optuna's numbers (JournalOperation).
const (
	createStudy  = 0
	setStudyAttr = 2
	createTrial  = 4
)

// The directions of a study, by Optuna's numbers (StudyDirection).
const (
	minimize = 1
	maximize = 2
)

// The states of a trial, by Optuna's numbers (TrialState).
const (
	running  = 0
	complete = 1
	pruned   = 2
	failed   = 3
	waiting  = 4
)

// states are Optuna's of trials that have run a round.
var states = map[view.State]int{
	view.Running: running, view.Interrupted: running, view.Pruned: pruned, view.Completed: complete, view.Failed: failed,
}

// worker marks who wrote a line. Optuna's own are unique to a thread.
const worker = "fedfast"

// study is the line that begins a study.
type study struct {
	Op         int    `json:"op_code"`
	Worker     string `json:"worker_id"`
	Name       string `json:"study_name"`
	Directions []int  `json:"directions"`
}

// attr is a line that notes something about the study.
type attr struct {
	Op     int            `json:"op_code"`
	Worker string         `json:"worker_id"`
	Study  int            `json:"study_id"`
	Attr   map[string]any `json:"user_attr"`
}

// trial is the line of a trial with all that is known of it.
type trial struct {
	Op     int      `json:"op_code"`
	Worker string   `json:"worker_id"`
	Study  int      `json:"study_id"`
	State  int      `json:"state"`
	Values []number `json:"values"` // null without
	// Start is null for a trial that waits; End is there when it has ended.
	Start *string `json:"datetime_start"`
	End   string  `json:"datetime_complete,omitempty"`
	// Distributions are JSON in strings.
	Distributions map[string]string  `json:"distributions"`
	Params        map[string]float64 `json:"params"`
	User          map[string]any     `json:"user_attrs"`
	System        map[string]any     `json:"system_attrs"`
	Steps         map[string]number  `json:"intermediate_values"`
}

// number is a float64 that may be infinite.
type number float64

// MarshalJSON writes an infinity as a number that is too large for a float64, which
// Python reads as that.
func (x number) MarshalJSON() ([]byte, error) {
	switch f := float64(x); {
	case math.IsInf(f, 1):
		return []byte("1e999"), nil
	case math.IsInf(f, -1):
		return []byte("-1e999"), nil
	default:
		return json.Marshal(f)
	}
}

// Check returns an error for what Optuna does not know: a training without trials.
func Check(o *view.Overview) error {
	if o.Mode != config.ModeTune {
		return fmt.Errorf("%s: a run without trials; only studies of `fedfast tune` can be exported to Optuna", o.Dir)
	}
	return nil
}

// Write writes a study of tune. The scores at rungs are the intermediate values,
// that of the last one the trial's value. adds are dimensions that the client tuner
// adds to the space.
func Write(w io.Writer, o *view.Overview, adds []tuners.Dim) error {
	if err := Check(o); err != nil {
		return err
	}
	lines := json.NewEncoder(w)
	direction := minimize
	if o.Config.Aim().Direction == tuners.Maximize {
		direction = maximize
	}
	if err := lines.Encode(study{createStudy, worker, o.Name, []int{direction}}); err != nil {
		return err
	}
	notes := []map[string]any{{"fedfast.config": o.Text}, {"fedfast.state": o.State}}
	if o.Best != nil {
		notes = append(notes, map[string]any{"fedfast.best": map[string]any{
			"trial": o.Best.Trial, "round": o.Best.Round, "score": number(o.Best.Score), "returned": o.Best.Returned,
		}})
	}
	for _, note := range notes {
		if err := lines.Encode(attr{Op: setStudyAttr, Worker: worker, Attr: note}); err != nil {
			return err
		}
	}
	dims, err := dimensions(o, adds)
	if err != nil {
		return err
	}
	for i := range o.Suggested() {
		line, err := lineOf(&o.Trials[i], dims)
		if err != nil {
			return fmt.Errorf("%s: trial %d: %w", o.Dir, i, err)
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// lineOf is the line of a trial.
func lineOf(t *view.Trial, dims tuners.Space) (*trial, error) {
	line := &trial{
		Op: createTrial, Worker: worker, State: states[t.State],
		Distributions: map[string]string{}, Params: map[string]float64{}, Steps: map[string]number{},
		User: map[string]any{"fedfast.rounds": t.Rounds}, System: map[string]any{},
	}
	if line.State == running && t.Rounds == t.First {
		line.State = waiting
	}
	for _, name := range t.Params.Keys() {
		dim, _ := dims.Dim(name)
		d, err := distributionOf(dim)
		if err != nil {
			return nil, err
		}
		if line.Distributions[name], err = d.text(); err != nil {
			return nil, err
		}
		if line.Params[name], err = d.internal(t.Params[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, r := range t.Rungs {
		if !math.IsNaN(r.Score) { // a value that Optuna has not either
			line.Steps[strconv.Itoa(r.Round)] = number(r.Score)
		}
	}
	score := t.Score()
	scored := score != nil && !math.IsNaN(*score)
	if line.State == complete && !scored {
		line.State = failed // Optuna asks a value of every complete trial
		line.User["fedfast.reason"] = "it has no score"
	}
	if scored && (line.State == complete || line.State == pruned) {
		line.Values = []number{number(*score)}
	}
	if line.State != waiting {
		line.Start = new(date(t.Opened))
	}
	if line.State == complete || line.State == pruned || line.State == failed {
		line.End = date(t.Last)
	}
	if why := t.Reason(); why != "" {
		line.User["fedfast.reason"] = why
	}
	if t.Source != nil {
		line.User["fedfast.source"] = *t.Source
	}
	return line, nil
}

// date writes a time in UTC as Optuna does: without a zone.
func date(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000") }
