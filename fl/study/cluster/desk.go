package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// desk is a worker at work: it does one order after the other.
type desk struct {
	worker *worker
	link   *link

	lease int64
	trial int
	job   job // nil without a lease

	weights []float32 // of the last task, and their digest
	holds   string
}

// serve does orders until the study ends, the worker is to leave and has handed over
// its trial, or the connection is lost.
func (d *desk) serve(ctx context.Context) error {
	var err error
	if d.link.blobs, err = openBlobs(ctx, d.link.conn, d.link.scope); err != nil {
		return fmt.Errorf("%w: %w", errNoLink, err)
	}
	d.link.blobs.denied = d.link.denied
	d.link.blobs = d.link.blobs.of(d.link.tag, d.worker.study.MostBytes())
	d.link.leaving = func() bool { return ctx.Err() != nil }
	last := turn{State: stateIdle}
	for {
		if ctx.Err() != nil && d.job == nil && last.State != stateShared {
			return d.leave()
		}
		o, err := d.ask(ctx, last)
		if errors.Is(err, errLeaving) {
			return d.leave()
		}
		if err != nil {
			return err
		}
		switch o.Order {
		case orderStop:
			return nil
		case orderLeave:
			return &RefusedError{oneline.Of(o.Why)}
		case orderAgain:
			return errAgain
		}
		if why := o.wrong(d.link.tag); why != "" {
			return fmt.Errorf("the coordinator sent a bad order: %s", why)
		}
		while, done := d.link.alive(context.WithoutCancel(ctx))
		err = d.worker.aside(while, func() { last = d.do(while, o) })
		done()
		if err != nil {
			return errNoLink
		}
	}
}

// ask tells what was done. With a trial at hand it waits for the answer even if the
// worker is to leave.
func (d *desk) ask(ctx context.Context, t turn) (*order, error) {
	t.Leaving = ctx.Err() != nil
	if d.job != nil {
		t.Lease, t.Trial, t.Rounds = d.lease, d.trial, d.job.Rounds()
		if t.Leaving && !d.link.conn.IsConnected() {
			return nil, errLeaving
		}
		ctx = context.WithoutCancel(ctx)
	} else if t.State == stateShared {
		ctx = context.WithoutCancel(ctx)
	}
	return d.link.ask(ctx, t)
}

// leave says that the worker leaves.
func (d *desk) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = d.link.ask(ctx, turn{State: stateBye, Leaving: true}) // it leaves anyway
	return errLeaving
}

// drop forgets the trial at hand.
func (d *desk) drop() turn {
	d.lease, d.trial, d.job = 0, 0, nil
	return turn{State: stateIdle}
}

// do does an order.
func (d *desk) do(ctx context.Context, o *order) turn {
	if o.Keep && d.job != nil {
		d.job.Keep()
	}
	switch {
	case o.Order == orderStart:
		return d.start(ctx, o)
	case o.Order == orderShare:
		return d.share(ctx, o)
	case d.job == nil || o.Order == orderDrop:
		return d.drop()
	case o.Order == orderRound:
		return d.round(ctx, o)
	case o.Order == orderFetch:
		return d.fetch(ctx, o)
	}
	return turn{State: stateFailed, Problem: fmt.Sprintf("an order %q is not known", o.Order)}
}

// start takes a trial.
func (d *desk) start(ctx context.Context, o *order) turn {
	d.drop()
	if o.Snapshot == "" {
		d.job = d.worker.study.Begin(o.Trial)
	} else {
		s, err := again(func() (*fl.Snapshot, error) { return d.link.blobs.get(ctx, o.Snapshot) })
		if err != nil {
			d.worker.options.Notice(fmt.Sprintf("trial %d cannot be fetched: %v", o.Trial, err))
			return d.drop()
		}
		if d.job, err = d.worker.study.Resume(s); err != nil {
			d.job = d.worker.study.Begin(o.Trial)
			d.lease, d.trial = o.Lease, o.Trial
			return turn{State: stateFailed, Problem: err.Error()}
		}
	}
	d.lease, d.trial = o.Lease, o.Trial
	return turn{State: stateReady}
}

// round runs a round.
func (d *desk) round(ctx context.Context, o *order) turn {
	if o.Rounds != d.job.Rounds() {
		return turn{State: stateFailed, Problem: fmt.Sprintf("it has run %d rounds and is to run the one after %d", d.job.Rounds(), o.Rounds)}
	}
	p, err := o.Plan.decode()
	if err != nil {
		return turn{State: stateFailed, Problem: "the plan cannot be read: " + err.Error()}
	}
	time.Sleep(d.worker.options.slow)
	if stall := d.worker.options.stall; stall != nil {
		stall(int(d.worker.rounds.Load()))
	}
	record, err := d.job.Round(ctx, p, o.Observed)
	if panicked, ok := errors.AsType[*fl.PanicError](err); ok {
		return turn{State: stateRound, Panic: fmt.Sprint(panicked.Value), Stack: string(panicked.Stack)}
	}
	if err != nil {
		return turn{State: stateFailed, Problem: err.Error()}
	}
	d.worker.rounds.Add(1)
	if change := d.worker.options.change; change != nil {
		record = change(record)
	}
	return turn{State: stateRound, Record: record}
}

// fetch puts what the coordinator wants to have.
func (d *desk) fetch(ctx context.Context, o *order) turn {
	t := turn{State: stateFetched}
	put := func(s *fl.Snapshot) (string, error) {
		return again(func() (string, error) { return d.link.blobs.put(ctx, s) })
	}
	var err error
	if o.Model && d.job.Kept() != nil {
		t.Model, err = put(d.job.Kept())
	}
	if o.State && err == nil {
		t.Snapshot, err = put(d.job.State())
	}
	if err != nil {
		d.worker.options.Notice(fmt.Sprintf("trial %d cannot be handed over: %v", d.trial, err))
		return d.drop()
	}
	return t
}

// again tries something a few times.
func again[T any](f func() (T, error)) (v T, err error) {
	for try := range 3 {
		if v, err = f(); err == nil {
			return v, nil
		}
		time.Sleep(time.Duration(try) * 200 * time.Millisecond)
	}
	return v, err
}
