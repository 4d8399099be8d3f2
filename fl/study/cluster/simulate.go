package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/worker"
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
		c.terms.most += int64(4 * len(s.State.Weights))
		c.transit.Blobs = c.transit.Of(c.transit.Tag, c.terms.most)
	}
	for i := range ended {
		stub := worker.Stub{Record: s.Record, State: s.State, Duration: s.Round, Most: c.terms.most}
		o := worker.Options{Join: c.broker.Path, Version: c.terms.version, Workers: 1, Patience: time.Minute}
		all.Go(func() {
			ended[i] = worker.Simulated(o, fmt.Sprintf("simulated-%d", i+1), stub, c.terms.facts).Work(ctx)
		})
	}
	all.Wait()
	return errors.Join(ended...)
}

// Joined returns the number of connected workers.
func (c *Coordinator) Joined() int {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.pool.here()
}
