package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
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
	worker, err := c.give(ctx, at, fl.Plan(s.Plan), wire.Task{Lo: at.lo, Hi: at.hi, Clip: s.Clip}, s.Weights, read,
		func(w *study.Worker, to io.Writer) error { return w.Train(ctx, s, to) })
	if err != nil {
		return err
	}
	return c.trained(at, worker)
}

// Measure evaluates a model on the next free worker likewise.
func (c *Coordinator) Measure(ctx context.Context, x shard.Exam, read func(io.Reader) error) error {
	whole := x
	plan, weights := fl.Plan{Server: x.Server, Clients: x.Params}, x.Weights
	x.Weights, x.Params, x.Server = nil, nil, fl.ServerParams{} // they travel apart
	first := 0
	if len(x.Clients) > 0 {
		first = x.Clients[0]
	}
	_, err := c.give(ctx, share{rounds: x.Round, lo: first}, plan, wire.Task{Exam: &x}, weights, read,
		func(w *study.Worker, to io.Writer) error { return w.Measure(ctx, whole, to) })
	return err
}

// unread is the maximum number of failed attempts at a task.
const unread = 5

// give gives a task to a worker and reads the result. do does it in this process.
func (c *Coordinator) give(ctx context.Context, at share, p fl.Plan, work wire.Task, weights []float32,
	read func(io.Reader) error, do func(w *study.Worker, to io.Writer) error,
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
		s, text, err := c.task(ctx, nil, at, wire.Order{Plan: plan, Task: &work}, weights)
		fault, _ := errors.AsType[*faultError](err)
		switch {
		case fault != nil:
			err = c.verify(s, nil, fault, do)
		case err == nil && c.auditor.draws(at):
			err = c.auditTask(ctx, s, text, at, wire.Order{Plan: plan, Task: &work}, weights, do)
		}
		if err == nil {
			if err = read(bytes.NewReader(text)); err == nil {
				return s.name, nil
			}
			err = c.expel(s, fmt.Errorf("%s: %w", at, err))
		}
		switch {
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

// auditTask has another idle worker do a task again, or the coordinator where there is none
// or they differ.
func (c *Coordinator) auditTask(ctx context.Context, s *workerHandle, text []byte, at share, o wire.Order,
	weights []float32, do func(w *study.Worker, to io.Writer) error,
) error {
	c.pool.mu.Lock()
	other := c.pool.spareBut(s)
	c.pool.mu.Unlock()
	if other != nil {
		_, again, err := c.task(ctx, other, at, o, weights)
		if err == nil && bytes.Equal(text, again) {
			c.auditor.twice()
			return nil
		}
		if err == nil {
			if err = c.verify(other, again, nil, do); err != nil && !errors.Is(err, study.ErrLost) {
				return err
			}
		}
	}
	err := c.verify(s, text, nil, do)
	if err == nil {
		c.auditor.twice()
	}
	return err
}

// errUnread means that a task could not be done with the weights, or its result not be sent.
var errUnread = errors.New("it cannot fetch the weights or send the result")

// task gives a task to a worker that was taken, nil for the next free one, and returns the
// result.
func (c *Coordinator) task(ctx context.Context, s *workerHandle, at share, o wire.Order, weights []float32,
) (_ *workerHandle, text []byte, err error) {
	era := c.broker.Era()
	name, done, err := c.broadcast.send(ctx, weights)
	if err == nil {
		defer done()
		if s == nil {
			s, err = c.pool.take(ctx)
		}
	} else if s != nil {
		c.pool.release(s)
	}
	if err != nil {
		return nil, nil, c.excuse(era, err)
	}
	// for one order, so it is not recorded: see trained
	t := c.lease(s, leased{trial: at.trial, rounds: at.rounds, share: &at})
	work := *o.Task
	work.Weights, o.Task = name, &work
	o.Order, o.Lease, o.Trial, o.Rounds = wire.OrderShare, t.lease, at.trial, at.rounds
	got, err := t.call(ctx, o, wire.StateShared)
	t.End()
	switch {
	case errors.Is(err, errGivenUp):
		c.broadcast.doubt(weights)
		err = fmt.Errorf("worker %s: %s: %w", s.name, at, errUnread)
	case err == nil && got.Panic != "":
		err = &faultError{s, &shard.PanicError{Value: got.Panic, Stack: []byte(got.Stack)}}
	case err == nil:
		if text = got.Result; got.Blob != "" {
			text, err = c.transit.Bytes(ctx, got.Blob)
		}
		if err == nil {
			err = c.transit.forget(ctx, got.Blob)
		}
		if err != nil && ctx.Err() == nil {
			err = &faultError{s, err}
		}
	}
	return s, text, c.excuse(era, err)
}

// trained records the workers that share a trial's rounds when they have changed.
func (c *Coordinator) trained(at share, worker string) error {
	names := c.costs.trained(at.trial, worker)
	if names == nil {
		return nil
	}
	return c.journal.leased(at.trial, at.rounds, result.LeaseRecord{Lease: c.journal.next(), Workers: names})
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

// onHello handles the hello of a worker.
func (c *Coordinator) onHello(m *nats.Msg) {
	var h wire.Hello
	if c.scope().Read(m, &h) {
		c.greet(m, &h, wire.Token())
	}
}

// greet admits a worker, in two messages, or refuses it. The answer to the first message
// assigns it the token worker, which its requests must contain.
func (c *Coordinator) greet(m *nats.Msg, h *wire.Hello, worker string) bool {
	respond := c.scope().Respond
	why := h.Wrong()
	if h.Plain(); why == "" {
		why = c.terms.refuse(h)
	}
	if why != "" {
		why = oneline.Of(why)
		c.options.Notice(fmt.Sprintf("refused a worker on %s: %s", h.Host, why))
		respond(m, wire.Welcome{Refused: why})
		return false
	}
	if h.Facts == nil {
		respond(m, wire.Welcome{
			Worker: worker, Tag: c.transit.Tag, Config: c.terms.config, Plain: c.terms.plain,
			Heartbeat: c.options.Heartbeat.Milliseconds(),
		})
		return true
	}
	if !wire.IsToken(h.Worker) {
		respond(m, wire.Welcome{Refused: "second hello without a first"})
		return false
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	s := c.pool.handles[h.Worker]
	if s == nil && len(c.pool.handles) >= wire.MaxWorkers {
		respond(m, wire.Welcome{Refused: fmt.Sprintf("the maximum of %d workers is reached", len(c.pool.handles))})
		return false
	}
	if s == nil { // else the answer was lost
		c.pool.joined++
		s = newHandle(*h, c.scope().InboxOf(m.Reply), fmt.Sprintf("%s-%d", h.Host, c.pool.joined), c.scope())
		c.pool.handles[h.Worker] = s
		c.journal.worker(result.WorkerRecord{
			Worker: s.name, State: result.WorkerJoined, Host: h.Host, PID: h.PID, CPU: h.CPU,
			Level: h.Level, Workers: h.Workers,
		})
		c.options.Notice(fmt.Sprintf("%s joined (%s, level %s, %d concurrent clients); %s", s.name, h.CPU, h.Level,
			h.Workers, c.pool.inWords()))
	}
	respond(m, wire.Welcome{Worker: h.Worker, Name: s.name})
	return true
}

// scope returns the scope on the server.
func (c *Coordinator) scope() *wire.Scope {
	if c.broker == nil {
		return nil
	}
	return c.broker.Scope
}
