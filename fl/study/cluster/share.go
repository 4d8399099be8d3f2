package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

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
	worker, err := c.give(ctx, at, fl.Plan(s.Plan), wire.Task{Lo: at.lo, Hi: at.hi, Clip: s.Clip}, s.Weights, read)
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
func (c *Coordinator) give(ctx context.Context, at share, p fl.Plan, work wire.Task, weights []float32,
	read func(io.Reader) error,
) (worker string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.transit.interrupted(cancel)()
	c.journal.begins()
	plan, err := wire.EncodePlan(p)
	if err != nil {
		return "", err
	}
	for tries := 1; ; {
		s, err := c.task(ctx, at, wire.Order{Plan: plan, Task: &work}, weights, read)
		switch {
		case err == nil:
			return s.name, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, errUnread):
			if tries++; tries > unread {
				return "", err
			}
		case !errors.Is(err, study.ErrLost):
			return "", err
		}
	}
}

// errUnread means that a task could not be done with the weights, or its result not be read.
var errUnread = errors.New("no result")

// task gives a task to the next free worker and reads the result.
func (c *Coordinator) task(ctx context.Context, at share, o wire.Order, weights []float32, read func(io.Reader) error,
) (*workerHandle, error) {
	era := c.broker.Era()
	name, done, err := c.broadcast.send(ctx, weights)
	if err != nil {
		return nil, c.excuse(era, err)
	}
	defer done()
	s, err := c.pool.take(ctx)
	if err != nil {
		return nil, err
	}
	// for one order, so it is not recorded: see trained
	t := c.lease(s, leased{trial: at.trial, rounds: at.rounds, share: &at})
	o.Order, o.Lease, o.Trial, o.Rounds, o.Task.Weights = wire.OrderShare, t.lease, at.trial, at.rounds, name
	got, err := t.call(ctx, o, wire.StateShared)
	t.End()
	switch err = c.excuse(era, err); {
	case errors.Is(err, errGivenUp):
		return s, fmt.Errorf("worker %s: %s: %w: it cannot fetch the weights or send the result", s.name, at, errUnread)
	case err != nil:
		return s, err
	case got.Panic != "":
		return s, &shard.PanicError{Value: got.Panic, Stack: []byte(got.Stack)}
	}
	if err := c.result(ctx, got, read); err != nil {
		return s, c.excuse(era, fmt.Errorf("worker %s: %s: %w: %w", s.name, at, errUnread, err))
	}
	return s, nil
}

// result reads the result of a task from the request, or from its blob.
func (c *Coordinator) result(ctx context.Context, t *wire.Request, read func(io.Reader) error) error {
	text := t.Result
	if t.Blob != "" {
		var err error
		if text, err = c.transit.Bytes(ctx, t.Blob); err != nil {
			return err
		}
	}
	if err := read(bytes.NewReader(text)); err != nil {
		return err
	}
	return c.transit.forget(ctx, t.Blob) // only a valid result: another blob may still be needed
}

// trained records the workers that share a trial's rounds when they have changed.
func (c *Coordinator) trained(at share, worker string) error {
	names := c.costs.trained(at.trial, worker)
	if names == nil {
		return nil
	}
	return c.journal.leased(at.trial, at.rounds, study.LeaseRecord{Lease: c.journal.next(), Workers: names})
}

// Shares reports whether the next round of a trial is shared.
func (c *Coordinator) Shares(trial int) bool {
	yes, notice := c.costs.shares(trial, c.pool.supply(trial))
	if notice != "" {
		c.options.Notice(notice)
	}
	return yes
}

// Shards returns the number of shards a round is split into.
func (c *Coordinator) Shards(trial, round, clients int) int {
	n := c.costs.shards(trial, round, clients, c.pool.supply(trial))
	if n > 0 {
		c.ledger.forgetShares(trial, round)
	}
	return n
}

// Exams returns the number of parts an evaluation on the given number of clients is
// split into.
func (c *Coordinator) Exams(clients int) int { return c.costs.exams(clients, c.pool.supply(-1)) }
