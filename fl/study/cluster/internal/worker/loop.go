package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// loop is the main loop of a worker: it carries out one order after another.
type loop struct {
	worker *Worker
	link   *wire.Link
	blobs  *wire.Blobs

	lease int64
	trial int
	job   Job // nil without a lease

	weights []float32 // of the last task
	holds   string    // digest of weights
}

// serve carries out orders until the study ends, the connection is lost, or the worker
// was asked to leave and has handed over its trial.
func (l *loop) serve(ctx context.Context) error {
	l.link.Leaving = func() bool { return ctx.Err() != nil }
	last := wire.Request{State: wire.StateIdle}
	for {
		if ctx.Err() != nil && l.job == nil && last.State != wire.StateShared {
			return l.leave()
		}
		o, err := l.ask(ctx, last)
		if errors.Is(err, wire.ErrLeaving) {
			return l.leave()
		}
		if err != nil {
			return err
		}
		switch o.Order {
		case wire.OrderStop:
			return nil
		case wire.OrderLeave:
			return &wire.RefusedError{Why: oneline.Of(o.Why)}
		case wire.OrderAgain:
			return wire.ErrAgain
		}
		while, done := l.link.Alive(context.WithoutCancel(ctx))
		err = l.worker.aside(while, func() { last = l.do(while, o) })
		done()
		if err != nil {
			return wire.ErrNoLink
		}
	}
}

// ask reports what was done and returns the next order. A worker that has a trial waits
// for the answer even if it was asked to leave.
func (l *loop) ask(ctx context.Context, t wire.Request) (*wire.Order, error) {
	t.Leaving = ctx.Err() != nil
	if l.job != nil {
		t.Lease, t.Trial, t.Rounds = l.lease, l.trial, l.job.Rounds()
		if t.Leaving && !l.link.Conn.IsConnected() {
			return nil, wire.ErrLeaving
		}
		ctx = context.WithoutCancel(ctx)
	} else if t.State == wire.StateShared {
		ctx = context.WithoutCancel(ctx)
	}
	return l.link.Ask(ctx, t)
}

// leave tells the coordinator that the worker leaves.
func (l *loop) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = l.link.Ask(ctx, wire.Request{State: wire.StateBye, Leaving: true}) // it leaves anyway
	return wire.ErrLeaving
}

// drop drops the current trial.
func (l *loop) drop() wire.Request {
	l.lease, l.trial, l.job = 0, 0, nil
	return wire.Request{State: wire.StateIdle}
}

// do carries out an order.
func (l *loop) do(ctx context.Context, o *wire.Order) wire.Request {
	if o.Keep && l.job != nil {
		l.job.Keep()
	}
	switch {
	case o.Order == wire.OrderStart:
		return l.start(ctx, o)
	case o.Order == wire.OrderShare:
		return l.share(ctx, o)
	case l.job == nil || o.Order == wire.OrderDrop:
		return l.drop()
	case o.Order == wire.OrderRound:
		return l.round(ctx, o)
	case o.Order == wire.OrderFetch:
		return l.fetch(ctx, o)
	}
	return wire.Request{State: wire.StateFailed, Problem: fmt.Sprintf("unknown order %q", o.Order)}
}

// start loads a trial.
func (l *loop) start(ctx context.Context, o *wire.Order) wire.Request {
	l.drop()
	if o.Snapshot == "" {
		l.job = l.worker.engine.Begin(o.Trial)
	} else {
		s, err := again(func() (*fl.Snapshot, error) { return l.blobs.Get(ctx, o.Snapshot) })
		if err != nil {
			l.worker.options.Notice(fmt.Sprintf("cannot fetch trial %d: %v", o.Trial, err))
			return l.drop()
		}
		if l.job, err = l.worker.engine.Resume(s); err != nil {
			l.job = l.worker.engine.Begin(o.Trial)
			l.lease, l.trial = o.Lease, o.Trial
			return wire.Request{State: wire.StateFailed, Problem: err.Error()}
		}
	}
	l.lease, l.trial = o.Lease, o.Trial
	return wire.Request{State: wire.StateReady}
}

// round runs a round.
func (l *loop) round(ctx context.Context, o *wire.Order) wire.Request {
	if o.Rounds != l.job.Rounds() {
		return wire.Request{
			State:   wire.StateFailed,
			Problem: fmt.Sprintf("round out of order: %d rounds were run, ordered the one after %d", l.job.Rounds(), o.Rounds),
		}
	}
	p, err := o.Plan.Decode()
	if err != nil {
		return wire.Request{State: wire.StateFailed, Problem: "invalid plan: " + err.Error()}
	}
	record, err := l.job.Round(ctx, p, o.Observed)
	if panicked, ok := errors.AsType[*shard.PanicError](err); ok {
		return wire.Request{State: wire.StateRound, Panic: fmt.Sprint(panicked.Value), Stack: string(panicked.Stack)}
	}
	if err != nil {
		return wire.Request{State: wire.StateFailed, Problem: err.Error()}
	}
	l.worker.rounds.Add(1)
	return wire.Request{State: wire.StateRound, Record: record, Sum: wire.Sum(l.job.Weights())}
}

// fetch uploads what the coordinator asks for.
func (l *loop) fetch(ctx context.Context, o *wire.Order) wire.Request {
	t := wire.Request{State: wire.StateFetched}
	put := func(s *fl.Snapshot) (string, error) {
		return again(func() (string, error) { return l.blobs.Put(ctx, s) })
	}
	var err error
	if o.Model && l.job.Kept() != nil {
		t.Model, err = put(l.job.Kept())
	}
	if o.State && err == nil {
		t.Snapshot, err = put(l.job.State())
	}
	if err != nil {
		l.worker.options.Notice(fmt.Sprintf("cannot hand over trial %d: %v", l.trial, err))
		return l.drop()
	}
	return t
}

// again retries f a few times.
func again[T any](f func() (T, error)) (v T, err error) {
	for try := range 3 {
		time.Sleep(time.Duration(try) * 200 * time.Millisecond)
		if v, err = f(); err == nil {
			break
		}
	}
	return v, err
}
