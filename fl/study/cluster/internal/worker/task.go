package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// share carries out a task.
func (l *loop) share(ctx context.Context, o *wire.Order) wire.Request {
	l.drop()
	t := wire.Request{State: wire.StateShared, Lease: o.Lease, Trial: o.Trial, Rounds: o.Rounds}
	failed := func(err error) wire.Request {
		t.State, t.Problem = wire.StateFailed, err.Error()
		return t
	}
	if o.Task == nil {
		return failed(errors.New("order to share a round without a task"))
	}
	p, err := o.Plan.Decode()
	if err != nil {
		return failed(fmt.Errorf("invalid plan: %w", err))
	}
	if err := l.load(ctx, o.Task.Weights); err != nil {
		l.worker.options.Notice(fmt.Sprintf("cannot fetch weights: %v", err))
		return l.drop()
	}
	var text bytes.Buffer
	err = l.train(ctx, o, p, &t, &text)
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
	if t.Blob, err = again(func() (string, error) { return l.blobs.PutBytes(ctx, text.Bytes()) }); err != nil {
		l.worker.options.Notice(fmt.Sprintf("cannot send the result of a task: %v", err))
		return l.drop()
	}
	return t
}

// train trains a part of a round, or evaluates, and writes the result.
func (l *loop) train(ctx context.Context, o *wire.Order, p fl.Plan, t *wire.Request, to io.Writer) error {
	if x := o.Task.Exam; x != nil {
		x.Weights, x.Params, x.Server = l.weights, p.Clients, p.Server
		return l.worker.engine.Measure(ctx, *x, to)
	}
	t.Lo, t.Hi = o.Task.Lo, o.Task.Hi
	err := l.worker.engine.Train(ctx, shard.Round{
		Trial: o.Trial, Round: o.Rounds, Weights: l.weights,
		Plan: shard.Plan(p), Clip: o.Task.Clip, Lo: t.Lo, Hi: t.Hi,
	}, to)
	if err == nil {
		l.worker.parts.Add(1)
	}
	return err
}

// load fetches weights, unless the last task had the same.
func (l *loop) load(ctx context.Context, name string) error {
	if l.holds == name {
		return nil
	}
	s, err := again(func() (*fl.Snapshot, error) { return l.blobs.Get(ctx, name) })
	if err != nil {
		return err
	}
	l.weights, l.holds = s.Weights, name
	return nil
}
