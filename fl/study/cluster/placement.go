package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
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
