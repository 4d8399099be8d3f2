package cluster

import (
	"context"
	"sync"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// journal numbers the leases and records them, and what happens to workers, in the study's
// store.
type journal struct {
	store *store.Store

	mu    sync.Mutex            // guards what follows
	lease int64                 // the newest
	begun bool                  // the study, whose first row is its own
	early []result.WorkerRecord // until then
}

// newJournal continues the journal of a study, in which a number of workers have joined.
func newJournal(ctx context.Context, s *store.Store) (j *journal, joined int, err error) {
	j = &journal{store: s}
	var here []string
	if joined, here, j.lease, err = result.Leases(ctx, s); err != nil {
		return nil, 0, err
	}
	for _, name := range here { // the coordinator was killed
		j.early = append(j.early, result.WorkerRecord{Worker: name, State: result.WorkerLost})
	}
	return j, joined, nil
}

// next returns the number of a new lease.
func (j *journal) next() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lease++
	return j.lease
}

// leased records a lease.
func (j *journal) leased(trial, rounds int, r result.LeaseRecord) error {
	return result.RecordLease(j.store, trial, rounds, r)
}

// begins notes that the study has started.
func (j *journal) begins() {
	j.mu.Lock()
	if !j.begun {
		j.begun = true
		j.flush()
	}
	j.mu.Unlock()
}

// hasBegun reports whether the study has started.
func (j *journal) hasBegun() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun
}

// worker records what happened to a worker, once the study has started. An error of the
// store is returned again for the next row of the study itself.
func (j *journal) worker(r result.WorkerRecord) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.early = append(j.early, r); j.begun {
		j.flush()
	}
}

func (j *journal) flush() {
	for _, r := range j.early {
		_ = result.RecordWorker(j.store, r)
	}
	j.early = nil
}
