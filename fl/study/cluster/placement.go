package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// Place starts or resumes the training of a trial on the next free worker.
func (c *Coordinator) Place(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (
	study.Training, error,
) {
	c.journal.begins()
	for tries := 1; ; {
		s, err := c.pool.placed(ctx)
		if err != nil {
			return nil, err
		}
		t, err := c.begin(ctx, s, trial, start)
		if err == nil {
			return t, nil
		}
		if t != nil {
			t.End()
		}
		if !errors.Is(err, study.ErrLost) {
			return nil, err
		}
		if tries++; !errors.Is(err, errGivenUp) {
			tries = 1
		} else if tries > maxUnsent {
			return nil, fmt.Errorf("trial %d: workers failed to fetch it %d times in a row; "+
				"check the workers' output, then resume the study", trial, maxUnsent)
		}
	}
}

// Begun reports whether the study has asked for a worker.
func (c *Coordinator) Begun() bool { return c.journal.hasBegun() }

// begin leases a trial to a worker.
func (c *Coordinator) begin(ctx context.Context, s *workerHandle, trial int,
	start func() (*fl.Snapshot, error),
) (*training, error) {
	era := c.broker.Era()
	from, err := start()
	rounds, blob := 0, ""
	if err == nil && from != nil {
		rounds = from.Round
		blob, err = c.transit.Put(ctx, from)
		err = c.excuse(era, err)
	}
	if err != nil {
		c.pool.release(s)
		return nil, err
	}
	t := c.lease(s, leased{trial: trial, rounds: rounds})
	if t.start = start; from != nil {
		t.sum = wire.Sum(from.Weights)
	}
	if err := c.journal.leased(trial, rounds, result.LeaseRecord{Lease: t.lease, Worker: s.name}); err != nil {
		return t, err
	}
	_, err = t.call(ctx, wire.Order{Order: wire.OrderStart, Lease: t.lease, Trial: trial, Snapshot: blob}, wire.StateReady)
	if blob != "" {
		hurry, done := c.transit.interrupted.hurry(context.WithoutCancel(ctx))
		err = c.excuse(era, errors.Join(err, c.transit.Remove(hurry, blob)))
		done()
	}
	return t, err
}

// errOutage means that a trial was lost with the server's blobs, which is no worker's fault.
var errOutage = fmt.Errorf("%w: the NATS server was unreachable", study.ErrLost)

// excuse returns errOutage for the failure of a transfer if there was an outage since an era.
func (c *Coordinator) excuse(era uint64, err error) error {
	if err != nil && c.broker.Outage(era, err) {
		return errOutage
	}
	return err
}

// lease gives a worker that was taken a lease with a new number.
func (c *Coordinator) lease(s *workerHandle, of leased) *training {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	s.taken = false
	of.lease, of.era = c.journal.next(), c.broker.Era()
	if !s.out {
		s.leased = of
	}
	return &training{coordinator: c, handle: s, lease: of.lease, trial: of.trial, rounds: of.rounds}
}

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
