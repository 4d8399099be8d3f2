package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// workerLoop is the main loop of a worker: it carries out one order after another.
type workerLoop struct {
	worker *worker
	link   *wire.Link
	blobs  *wire.Blobs

	lease int64
	trial int
	job   job // nil without a lease

	weights []float32 // of the last task
	holds   string    // digest of weights
}

// serve carries out orders until the study ends, the connection is lost, or the worker
// was asked to leave and has handed over its trial.
func (d *workerLoop) serve(ctx context.Context) error {
	var err error
	if d.blobs, err = d.link.OpenBlobs(ctx, d.worker.study.MostBytes()); err != nil {
		return err
	}
	d.link.Leaving = func() bool { return ctx.Err() != nil }
	last := wire.Request{State: wire.StateIdle}
	for {
		if ctx.Err() != nil && d.job == nil && last.State != wire.StateShared {
			return d.leave()
		}
		o, err := d.ask(ctx, last)
		if errors.Is(err, wire.ErrLeaving) {
			return d.leave()
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
		while, done := d.link.Alive(context.WithoutCancel(ctx))
		err = d.worker.aside(while, func() { last = d.do(while, o) })
		done()
		if err != nil {
			return wire.ErrNoLink
		}
	}
}

// ask reports what was done and returns the next order. A worker that has a trial waits
// for the answer even if it was asked to leave.
func (d *workerLoop) ask(ctx context.Context, t wire.Request) (*wire.Order, error) {
	t.Leaving = ctx.Err() != nil
	if d.job != nil {
		t.Lease, t.Trial, t.Rounds = d.lease, d.trial, d.job.Rounds()
		if t.Leaving && !d.link.Conn.IsConnected() {
			return nil, wire.ErrLeaving
		}
		ctx = context.WithoutCancel(ctx)
	} else if t.State == wire.StateShared {
		ctx = context.WithoutCancel(ctx)
	}
	return d.link.Ask(ctx, t)
}

// leave tells the coordinator that the worker leaves.
func (d *workerLoop) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = d.link.Ask(ctx, wire.Request{State: wire.StateBye, Leaving: true}) // it leaves anyway
	return wire.ErrLeaving
}

// drop drops the current trial.
func (d *workerLoop) drop() wire.Request {
	d.lease, d.trial, d.job = 0, 0, nil
	return wire.Request{State: wire.StateIdle}
}

// do carries out an order.
func (d *workerLoop) do(ctx context.Context, o *wire.Order) wire.Request {
	if o.Keep && d.job != nil {
		d.job.Keep()
	}
	switch {
	case o.Order == wire.OrderStart:
		return d.start(ctx, o)
	case o.Order == wire.OrderShare:
		return d.share(ctx, o)
	case d.job == nil || o.Order == wire.OrderDrop:
		return d.drop()
	case o.Order == wire.OrderRound:
		return d.round(ctx, o)
	case o.Order == wire.OrderFetch:
		return d.fetch(ctx, o)
	}
	return wire.Request{State: wire.StateFailed, Problem: fmt.Sprintf("unknown order %q", o.Order)}
}

// start loads a trial.
func (d *workerLoop) start(ctx context.Context, o *wire.Order) wire.Request {
	d.drop()
	if o.Snapshot == "" {
		d.job = d.worker.study.Begin(o.Trial)
	} else {
		s, err := again(func() (*fl.Snapshot, error) { return d.blobs.Get(ctx, o.Snapshot) })
		if err != nil {
			d.worker.options.Notice(fmt.Sprintf("cannot fetch trial %d: %v", o.Trial, err))
			return d.drop()
		}
		if d.job, err = d.worker.study.Resume(s); err != nil {
			d.job = d.worker.study.Begin(o.Trial)
			d.lease, d.trial = o.Lease, o.Trial
			return wire.Request{State: wire.StateFailed, Problem: err.Error()}
		}
	}
	d.lease, d.trial = o.Lease, o.Trial
	return wire.Request{State: wire.StateReady}
}

// round runs a round.
func (d *workerLoop) round(ctx context.Context, o *wire.Order) wire.Request {
	if o.Rounds != d.job.Rounds() {
		return wire.Request{State: wire.StateFailed, Problem: fmt.Sprintf("round out of order: %d rounds were run, ordered the one after %d", d.job.Rounds(), o.Rounds)}
	}
	p, err := o.Plan.Decode()
	if err != nil {
		return wire.Request{State: wire.StateFailed, Problem: "invalid plan: " + err.Error()}
	}
	time.Sleep(d.worker.options.slow)
	if stall := d.worker.options.stall; stall != nil {
		stall(int(d.worker.rounds.Load()))
	}
	record, err := d.job.Round(ctx, p, o.Observed)
	if panicked, ok := errors.AsType[*shard.PanicError](err); ok {
		return wire.Request{State: wire.StateRound, Panic: fmt.Sprint(panicked.Value), Stack: string(panicked.Stack)}
	}
	if err != nil {
		return wire.Request{State: wire.StateFailed, Problem: err.Error()}
	}
	d.worker.rounds.Add(1)
	if change := d.worker.options.change; change != nil {
		record = change(record)
	}
	return wire.Request{State: wire.StateRound, Record: record}
}

// fetch uploads what the coordinator asks for.
func (d *workerLoop) fetch(ctx context.Context, o *wire.Order) wire.Request {
	t := wire.Request{State: wire.StateFetched}
	put := func(s *fl.Snapshot) (string, error) {
		return again(func() (string, error) { return d.blobs.Put(ctx, s) })
	}
	var err error
	if o.Model && d.job.Kept() != nil {
		t.Model, err = put(d.job.Kept())
	}
	if o.State && err == nil {
		t.Snapshot, err = put(d.job.State())
	}
	if err != nil {
		d.worker.options.Notice(fmt.Sprintf("cannot hand over trial %d: %v", d.trial, err))
		return d.drop()
	}
	return t
}

// again retries f a few times.
func again[T any](f func() (T, error)) (v T, err error) {
	for try := range 3 {
		if v, err = f(); err == nil {
			return v, nil
		}
		time.Sleep(time.Duration(try) * 200 * time.Millisecond)
	}
	return v, err
}
