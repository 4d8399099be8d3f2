// Package trial runs one trial of a study: a federated training with hyperparameters of
// its own, whose rounds come from the record as far as that goes, and are trained, here
// or elsewhere, after it.
package trial

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/tuners"
)

// Study is what the trials of a study have in common.
type Study struct {
	Engine *fl.Engine
	Meter  *meter.Meter
	Past   *replay.Past
	Hyper  Hyper
	Client *ClientTuner // nil without one
	Away   Away
	Shelf  Shelf
	Stored Stored
	Forks  bool // the tuner copies trials, also stopped ones

	// Recorded, unless it is nil, has the rounds of all trials, each after the given number
	// of rounds: nothing is trained. A FailError ends the trial.
	Recorded func(t *Trial, rounds int) (*record.Round, error)
	Log      *slog.Logger

	held atomic.Int64 // trials whose weights wait in memory
}

// Hyper is from where the hyperparameters of trials start.
type Hyper struct {
	Base   hyper.Values
	Adds   map[string]bool // names of the client tuner's own dimensions
	Method fl.Method
	Probes []string // from which scores come
}

// of returns the hyperparameters of a trial.
func (h *Hyper) of(params tuners.Params) (hyper.Values, error) { return h.Base.With(params, h.Adds) }

// ClientTuner opens the client tuner's sessions.
type ClientTuner struct {
	Tuner    tuners.Tuner
	Request  tuners.OpenRequest // without what is of one trial
	Scalars  []string           // facts about clients that it asks for
	Controls []string           // patterns of the hyperparameters that it sets
	Prepared []byte             // state that opens its sessions, nil without a preparation
	Noise    float64            // on the sums of errors that it observes, of a private study
}

// Shelf keeps the best models of a study.
type Shelf interface {
	// Wants reports whether a model has a place among those that are kept.
	Wants(m *Model) bool
	// Buffer returns memory for the weights of a model, nil when none is free.
	Buffer() []float32
}

// Stored decides which snapshots of trials are stored.
type Stored struct {
	Every time.Duration // the least time between two of a running trial
	Last  bool          // the last one of every trial stays
	Held  int           // the number of trials that may wait in memory before others are stored
}

// Phase is what a trial does.
type Phase int

// The phases of a trial.
const (
	Waiting   Phase = iota // before its first segment, or between two
	Replaying              // in a segment, in rounds that are recorded
	Training               // in a segment, in rounds that are trained
	Completed              // it has run all its rounds, or reached its goal
	Stopped                // by the tuner, which may still copy it
	Ended                  // by a user
	Failed                 // it cannot go on
)

func (p Phase) String() string {
	return [...]string{"waiting", "replaying", "training", "completed", "stopped", "ended", "failed"}[p]
}

// Over reports whether nothing of the trial is left to be trained.
func (p Phase) Over() bool { return p >= Completed }

// moves are the phases that may follow each. A completed trial that is sent on has an
// empty segment. An action that a user took while a trial waited ends it when the tuner
// sends it on, or is done; the tuner may have stopped it by then.
var moves = [...][]Phase{
	Waiting:   {Replaying, Stopped, Ended},
	Replaying: {Training, Waiting, Completed, Ended, Failed},
	Training:  {Waiting, Completed, Ended, Failed},
	Completed: {Replaying, Stopped, Ended},
	Stopped:   {Ended},
	Ended:     {Ended},
	Failed:    {},
}

// transition moves the trial to a phase. reason is why it ends there, for users, and
// empty where that needs none.
func (t *Trial) transition(to Phase, reason string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(moves[t.phase], to) {
		return fmt.Errorf("trial %d is %s and cannot become %s", t.Number, t.phase, to)
	}
	t.phase, t.reason = to, reason
	return nil
}

// Phase returns what the trial does. It may be called from any goroutine.
func (t *Trial) Phase() Phase {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phase
}

// Reason returns why the trial has Ended or Failed.
func (t *Trial) Reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reason
}
