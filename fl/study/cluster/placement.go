package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// Place starts or resumes the training of a trial on the next free worker.
func (c *Coordinator) Place(ctx context.Context, trial int, start func() (*fl.Snapshot, error)) (study.Training, error) {
	c.begins()
	for tries := 1; ; {
		s, err := c.placed(ctx)
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
			return nil, fmt.Errorf("trial %d: workers failed to fetch it %d times in a row; check the workers' output, then resume the study", trial, maxUnsent)
		}
	}
}

// Begun reports whether the study has asked for a worker.
func (c *Coordinator) Begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun
}

// begins notes that the study has started.
func (c *Coordinator) begins() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begun = true
		c.record()
	}
}

// placed waits for a free worker for a whole trial.
func (c *Coordinator) placed(ctx context.Context) (*workerHandle, error) {
	c.mu.Lock()
	c.placing++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.placing--
		c.mu.Unlock()
	}()
	return c.take(ctx)
}

// take waits for a free worker.
func (c *Coordinator) take(ctx context.Context) (*workerHandle, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	if s := c.spare(); s != nil {
		c.mu.Unlock()
		return s, nil
	}
	c.endCopy()
	w := make(chan *workerHandle, 1)
	c.waiting = append(c.waiting, w)
	c.mu.Unlock()
	select {
	case s, ok := <-w:
		if !ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			return nil, c.err
		}
		return s, nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(o chan *workerHandle) bool { return o == w })
	select {
	case s, ok := <-w: // it arrived in the meantime
		if ok {
			s.taken = false
			c.offer(s)
		}
	default:
	}
	return nil, ctx.Err()
}

// spare takes a free worker, nil if there is none.
func (c *Coordinator) spare() *workerHandle {
	for _, s := range c.handles {
		if s.free() {
			s.taken = true
			return s
		}
	}
	return nil
}

// offer gives a free worker to the placement that has waited longest.
func (c *Coordinator) offer(s *workerHandle) {
	if s.free() && len(c.waiting) > 0 {
		s.taken = true
		c.waiting[0] <- s
		c.waiting = c.waiting[1:]
	}
}

// begin leases a trial to a worker.
func (c *Coordinator) begin(ctx context.Context, s *workerHandle, trial int, start func() (*fl.Snapshot, error)) (*training, error) {
	from, err := start()
	rounds, blob := 0, ""
	if err == nil && from != nil {
		rounds = from.Round
		blob, err = c.blobs.Put(ctx, from)
	}
	c.mu.Lock()
	s.taken = false
	if err != nil {
		c.offer(s)
		c.mu.Unlock()
		return nil, err
	}
	c.lease++
	t := &training{coordinator: c, handle: s, lease: c.lease, trial: trial, rounds: rounds, start: start}
	if !s.out {
		s.lease, s.trial, s.rounds, s.busy, s.share = t.lease, trial, rounds, false, nil
	}
	c.mu.Unlock()
	if err := study.RecordLease(c.store, trial, rounds, study.LeaseRecord{Lease: t.lease, Worker: s.name}); err != nil {
		return t, err
	}
	_, err = t.call(ctx, wire.Order{Order: wire.OrderStart, Lease: t.lease, Trial: trial, Snapshot: blob}, wire.StateReady)
	if blob != "" {
		hurry, done := c.interrupted.hurry(context.WithoutCancel(ctx))
		err = errors.Join(err, c.blobs.Remove(hurry, blob))
		done()
	}
	return t, err
}
