package worker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
)

// Simulated returns a worker on a machine of some name that trains nothing and reports the
// facts that the coordinator expects.
func Simulated(o Options, host string, s Stub, facts study.Facts) *Worker {
	w := New(o, func(context.Context, string, bool) (Engine, study.Facts, error) { return s, facts, nil })
	w.machine.Host = host
	return w
}

// Stub is the engine of a simulated worker.
type Stub struct {
	// Record is the record of every round and State the state after it, with trial and
	// round filled in. Duration is the duration of a round, Most the value of MostBytes.
	Record   []byte
	State    *fl.Snapshot
	Duration time.Duration
	Most     int64
}

// MostBytes returns the coordinator's limit.
func (s Stub) MostBytes() int64 { return s.Most }

// Begin starts a simulated trial.
func (s Stub) Begin(trial int) Job { return &stubJob{Stub: s, trial: trial} }

// Resume resumes a simulated trial.
func (s Stub) Resume(from *fl.Snapshot) (Job, error) {
	return &stubJob{Stub: s, trial: from.Number, rounds: from.Round}, nil
}

var errStub = errors.New("a simulated worker does not share rounds")

// Train fails.
func (Stub) Train(context.Context, shard.Round, io.Writer) error { return errStub }

// Measure fails.
func (Stub) Measure(context.Context, shard.Exam, io.Writer) error { return errStub }

// Close does nothing.
func (Stub) Close() {}

// stubJob counts rounds.
type stubJob struct {
	Stub
	trial, rounds int
	kept          *fl.Snapshot
}

// Rounds returns the number of rounds run.
func (j *stubJob) Rounds() int { return j.rounds }

// Round waits.
func (j *stubJob) Round(ctx context.Context, _ fl.Plan, _ []string) ([]byte, error) {
	if j.Duration > 0 {
		select {
		case <-time.After(j.Duration):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	j.rounds++
	return j.Record, nil
}

// Keep keeps the state.
func (j *stubJob) Keep() { j.kept = j.State() }

// Kept returns the kept state.
func (j *stubJob) Kept() *fl.Snapshot { return j.kept }

// Weights returns those of the state.
func (j *stubJob) Weights() []float32 { return j.Stub.State.Weights }

// State returns the current state.
func (j *stubJob) State() *fl.Snapshot {
	s := *j.Stub.State
	s.Number, s.Round = j.trial, j.rounds
	return &s
}
