package trial

import (
	"fmt"
	"slices"
)

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
