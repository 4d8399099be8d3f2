package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
)

// sharer carries out tasks on a worker: a study.Worker.
type sharer interface {
	Train(ctx context.Context, s shard.Round, to io.Writer) error
	Measure(ctx context.Context, x shard.Exam, to io.Writer) error
}

// share carries out a task.
func (d *workerLoop) share(ctx context.Context, o *wire.Order) wire.Request {
	d.drop()
	t := wire.Request{State: wire.StateShared, Lease: o.Lease, Trial: o.Trial, Rounds: o.Rounds}
	failed := func(err error) wire.Request {
		t.State, t.Problem = wire.StateFailed, err.Error()
		return t
	}
	does, ok := d.worker.study.(sharer)
	if !ok || o.Task == nil || o.Plan == nil {
		return failed(errors.New("order without a task that this worker can do"))
	}
	p, err := o.Plan.Decode()
	if err != nil {
		return failed(fmt.Errorf("invalid plan: %w", err))
	}
	if err := d.load(ctx, o.Task.Weights); err != nil {
		d.worker.options.Notice(fmt.Sprintf("cannot fetch weights: %v", err))
		return d.drop()
	}
	time.Sleep(d.worker.options.slow)
	var text bytes.Buffer
	err = d.does(ctx, does, o, p, &t, &text)
	if panicked, ok := errors.AsType[*shard.PanicError](err); ok {
		t.Panic, t.Stack = fmt.Sprint(panicked.Value), string(panicked.Stack)
		return t
	}
	if err != nil {
		return failed(err)
	}
	if text.Len() <= wire.MaxResult {
		t.Result = text.Bytes()
		return t
	}
	if t.Blob, err = again(func() (string, error) { return d.blobs.PutBytes(ctx, text.Bytes()) }); err != nil {
		d.worker.options.Notice(fmt.Sprintf("cannot send the result of a task: %v", err))
		return d.drop()
	}
	return t
}

// does carries out a task and writes its result.
func (d *workerLoop) does(ctx context.Context, s sharer, o *wire.Order, p fl.Plan, t *wire.Request, to io.Writer) error {
	if x := o.Task.Exam; x != nil {
		x.Weights, x.Params, x.Server = d.weights, p.Clients, p.Server
		return s.Measure(ctx, *x, to)
	}
	t.Lo, t.Hi = o.Task.Lo, o.Task.Hi
	err := s.Train(ctx, shard.Round{Trial: o.Trial, Round: o.Rounds, Weights: d.weights, Plan: shard.Plan(p), Lo: t.Lo, Hi: t.Hi}, to)
	if err == nil {
		d.worker.parts.Add(1)
	}
	return err
}

// load fetches weights, unless the last task had the same.
func (d *workerLoop) load(ctx context.Context, name string) error {
	if d.holds == name {
		return nil
	}
	s, err := again(func() (*fl.Snapshot, error) { return d.blobs.Get(ctx, name) })
	if err != nil {
		return err
	}
	d.weights, d.holds = s.Weights, name
	return nil
}
