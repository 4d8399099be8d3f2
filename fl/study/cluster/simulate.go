package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"

	"github.com/fedfast/fedfast/fl"
)

// Simulation simulates workers in one process that train nothing, each with its own
// connection, to measure the overhead of a cluster. They report the data, model and first
// rounds that the coordinator expects.
type Simulation struct {
	// Workers is the number of simulated workers.
	Workers int
	// Record is the record of every round and State the state after it, with trial
	// and round filled in. Round is the duration of a round.
	Record []byte
	State  *fl.Snapshot
	Round  time.Duration
}

// Simulate runs simulated workers until the study or ctx ends. They use the
// coordinator's own join file.
func (c *Coordinator) Simulate(ctx context.Context, s Simulation) error {
	var all sync.WaitGroup
	ended := make([]error, s.Workers)
	if s.State != nil { // it may be larger than a state of the study's model
		c.most += int64(4 * len(s.State.Weights))
		c.blobs = c.blobs.Of(c.blobs.Tag, c.most)
	}
	for i := range ended {
		w := newWorker(WorkerOptions{Join: c.broker.Path, Version: c.options.Version, Ended: func() bool { return false }, Notice: func(string) {}, Patience: time.Minute})
		w.of, w.study, w.facts = wire.Welcome{Config: c.config}, stub{Simulation: s, most: c.most}, c.facts
		w.machine.Host = fmt.Sprintf("simulated-%d", i+1)
		all.Go(func() { ended[i] = w.work(ctx) })
	}
	all.Wait()
	return errors.Join(ended...)
}

// Joined returns the number of connected workers.
func (c *Coordinator) Joined() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.here()
}

// stub is the trainer of a simulated worker.
type stub struct {
	Simulation
	most int64
}

// MostBytes returns the coordinator's limit.
func (s stub) MostBytes() int64 { return s.most }

// Begin starts a simulated trial.
func (s stub) Begin(trial int) job { return &stubJob{Simulation: s.Simulation, trial: trial} }

// Resume resumes a simulated trial.
func (s stub) Resume(from *fl.Snapshot) (job, error) {
	return &stubJob{Simulation: s.Simulation, trial: from.Number, rounds: from.Round}, nil
}

// Close does nothing.
func (stub) Close() {}

// stubJob counts rounds.
type stubJob struct {
	Simulation
	trial, rounds int
	kept          *fl.Snapshot
}

// Rounds returns the number of rounds run.
func (j *stubJob) Rounds() int { return j.rounds }

// Round waits.
func (j *stubJob) Round(ctx context.Context, _ fl.Plan, _ []string) ([]byte, error) {
	if j.Simulation.Round > 0 {
		select {
		case <-time.After(j.Simulation.Round):
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

// State returns the current state.
func (j *stubJob) State() *fl.Snapshot {
	s := *j.Simulation.State
	s.Number, s.Round = j.trial, j.rounds
	return &s
}
