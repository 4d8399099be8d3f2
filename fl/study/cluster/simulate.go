package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl"
)

// Simulation is workers of one process that train nothing, each with a connection of
// its own: what a cluster costs can be measured with them. They say what the
// coordinator wants to hear of data, network and first rounds.
type Simulation struct {
	// Workers is how many there are.
	Workers int
	// Record is that of every round, State the state after it, whose trial and
	// round are filled in. Round is how long a round takes, without computing.
	Record []byte
	State  *fl.Snapshot
	Round  time.Duration
}

// Simulate runs workers until the study or ctx ends. They come in by the
// coordinator's own join file.
func (c *Coordinator) Simulate(ctx context.Context, s Simulation) error {
	var all sync.WaitGroup
	ended := make([]error, s.Workers)
	if s.State != nil { // it may be larger than any of the study's model
		c.most += int64(4 * len(s.State.Weights))
		c.blobs.most = c.most
	}
	for i := range ended {
		w := newWorker(WorkerOptions{Join: c.broker.path, Version: c.options.Version, Ended: func() bool { return false }, Notice: func(string) {}, Patience: time.Minute})
		w.of, w.study, w.facts = welcome{Config: c.config}, stub{Simulation: s, most: c.most}, c.facts
		w.machine.Host = fmt.Sprintf("simulated-%d", i+1)
		all.Go(func() { ended[i] = w.work(ctx) })
	}
	all.Wait()
	return errors.Join(ended...)
}

// Joined returns how many workers are here.
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

// MostBytes is that of the coordinator.
func (s stub) MostBytes() int64 { return s.most }

// Begin begins nothing.
func (s stub) Begin(trial int) job { return &stubJob{Simulation: s.Simulation, trial: trial} }

// Resume goes on with it.
func (s stub) Resume(from *fl.Snapshot) (job, error) {
	return &stubJob{Simulation: s.Simulation, trial: from.Number, rounds: from.Round}, nil
}

// Close ends nothing.
func (stub) Close() {}

// stubJob counts rounds.
type stubJob struct {
	Simulation
	trial, rounds int
	kept          *fl.Snapshot
}

// Rounds returns how many there were.
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

// Kept returns what was kept.
func (j *stubJob) Kept() *fl.Snapshot { return j.kept }

// State returns the state.
func (j *stubJob) State() *fl.Snapshot {
	s := *j.Simulation.State
	s.Number, s.Round = j.trial, j.rounds
	return &s
}
