package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

var _ study.Sharer = (*Coordinator)(nil)

// share is a part of a round, the slots in [lo, hi), or a part of an evaluation, the
// clients starting at lo, with hi = 0.
type share struct{ trial, rounds, lo, hi int }

// String describes the share in notices.
func (s share) String() string {
	if s.hi == 0 {
		return "part of an evaluation"
	}
	return fmt.Sprintf("clients %d to %d of the cohort of trial %d after round %d", s.lo+1, s.hi, s.trial, s.rounds)
}

// Train trains a shard of a round on the next free worker, and on another one if that is
// lost.
func (c *Coordinator) Train(ctx context.Context, s shard.Round, read func(io.Reader) error) error {
	at := share{s.Trial, s.Round, s.Lo, s.Hi}
	worker, err := c.give(ctx, at, fl.Plan(s.Plan), wire.Task{Lo: at.lo, Hi: at.hi}, s.Weights, read)
	if err != nil {
		return err
	}
	return c.trained(at, worker)
}

// Measure evaluates a model on the next free worker likewise.
func (c *Coordinator) Measure(ctx context.Context, x shard.Exam, read func(io.Reader) error) error {
	plan, weights := fl.Plan{Server: x.Server, Clients: x.Params}, x.Weights
	x.Weights, x.Params, x.Server = nil, nil, fl.ServerParams{} // they travel apart
	first := 0
	if len(x.Clients) > 0 {
		first = x.Clients[0]
	}
	_, err := c.give(ctx, share{rounds: x.Round, lo: first}, plan, wire.Task{Exam: &x}, weights, read)
	return err
}

// unread is the maximum number of failed attempts at a task.
const unread = 5

// give gives a task to a worker and reads the result.
func (c *Coordinator) give(ctx context.Context, at share, p fl.Plan, work wire.Task, weights []float32, read func(io.Reader) error) (worker string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.interrupted(cancel)()
	c.begins()
	plan, err := wire.EncodePlan(p)
	if err != nil {
		return "", err
	}
	name, done, err := c.broadcast.send(ctx, weights)
	if err != nil {
		return "", err
	}
	defer done()
	work.Weights = name
	for tries := 1; ; {
		s, err := c.take(ctx)
		if err != nil {
			return "", err
		}
		t := c.lend(s, at)
		got, err := t.call(ctx, wire.Order{Order: wire.OrderShare, Lease: t.lease, Trial: at.trial, Rounds: at.rounds, Plan: plan, Task: &work}, wire.StateShared)
		t.End()
		switch {
		case errors.Is(err, errGivenUp) && tries < unread:
			tries++
			continue
		case errors.Is(err, study.ErrLost) && !errors.Is(err, errGivenUp):
			continue
		case err != nil:
			return "", err
		case got.Panic != "":
			return "", &shard.PanicError{Value: got.Panic, Stack: []byte(got.Stack)}
		}
		if err = c.result(ctx, got, read); err == nil {
			return s.name, nil
		}
		if tries++; tries > unread || ctx.Err() != nil {
			return "", fmt.Errorf("worker %s: %s: %w", s.name, at, err)
		}
	}
}

// lend gives a free worker a lease for a part of a round or of an evaluation. The lease
// lasts for one order, so it is not recorded: see trained.
func (c *Coordinator) lend(s *workerHandle, at share) *training {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.taken = false
	c.lease++
	if !s.out {
		s.lease, s.trial, s.rounds, s.busy, s.share = c.lease, at.trial, at.rounds, false, &at
	}
	return &training{coordinator: c, handle: s, lease: c.lease, trial: at.trial, rounds: at.rounds}
}

// result reads the result of a task from the request, or from its blob.
func (c *Coordinator) result(ctx context.Context, t *wire.Request, read func(io.Reader) error) error {
	text := t.Result
	if t.Blob != "" {
		var err error
		if text, err = c.blobs.Bytes(ctx, t.Blob); err != nil {
			return err
		}
	}
	if err := read(bytes.NewReader(text)); err != nil {
		return err
	}
	return c.forget(ctx, t.Blob) // only a valid result: another blob may still be needed
}

// trained notes that a worker has trained a part of a round. The workers that share a
// trial's rounds are recorded at the first shared round and whenever they change.
func (c *Coordinator) trained(at share, worker string) error {
	c.mu.Lock()
	p := c.costOf(at.trial)
	p.left--
	p.sharers[worker] = true
	names := slices.Sorted(maps.Keys(p.sharers))
	text := strings.Join(names, " ")
	if p.left > 0 || text == p.recorded {
		if p.left == 0 {
			p.ended(time.Now())
		}
		c.mu.Unlock()
		return nil
	}
	p.ended(time.Now())
	p.recorded = text
	c.lease++
	lease := c.lease
	c.mu.Unlock()
	return study.RecordLease(c.store, at.trial, at.rounds, study.LeaseRecord{Lease: lease, Workers: names})
}

// judgeShare compares a part of a round with another worker's result for it.
func (c *Coordinator) judgeShare(worker string, t *wire.Request) error {
	if t.Hi == 0 {
		return nil
	}
	at := share{t.Trial, t.Rounds, t.Lo, t.Hi}
	now := result{sum: digest([]byte(t.Blob), t.Result), worker: worker}
	then, known := c.shares[at]
	if !known {
		c.shares[at] = now
		return nil
	}
	return c.agree(at.String(), then, now)
}
