package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
)

// task is a part of a round or of an evaluation, which any worker can do.
type task struct {
	// Weights is the digest of the blob that holds the model.
	Weights string `json:"weights"`
	// Lo and Hi are the slots [Lo,Hi) of a part of a round. An evaluation has an Exam
	// instead; its weights and hyperparameters are in Weights and in the order's plan.
	Lo   int         `json:"lo,omitempty"`
	Hi   int         `json:"hi,omitempty"`
	Exam *shard.Exam `json:"exam,omitempty"`
}

// inline is the maximum size of a result that is sent within the request.
const inline = 64 << 10

// sharer carries out tasks on a worker: a study.Worker.
type sharer interface {
	Train(ctx context.Context, s shard.Round, to io.Writer) error
	Measure(ctx context.Context, x shard.Exam, to io.Writer) error
}

// share carries out a task.
func (d *workerLoop) share(ctx context.Context, o *order) request {
	d.drop()
	t := request{State: stateShared, Lease: o.Lease, Trial: o.Trial, Rounds: o.Rounds}
	failed := func(err error) request {
		t.State, t.Problem = stateFailed, err.Error()
		return t
	}
	does, ok := d.worker.study.(sharer)
	if !ok || o.Task == nil || o.Plan == nil {
		return failed(errors.New("order without a task that this worker can do"))
	}
	p, err := o.Plan.decode()
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
	if text.Len() <= inline {
		t.Result = text.Bytes()
		return t
	}
	if t.Blob, err = again(func() (string, error) { return d.link.blobs.putBytes(ctx, text.Bytes()) }); err != nil {
		d.worker.options.Notice(fmt.Sprintf("cannot send the result of a task: %v", err))
		return d.drop()
	}
	return t
}

// does carries out a task and writes its result.
func (d *workerLoop) does(ctx context.Context, s sharer, o *order, p fl.Plan, t *request, to io.Writer) error {
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
	s, err := again(func() (*fl.Snapshot, error) { return d.link.blobs.get(ctx, name) })
	if err != nil {
		return err
	}
	d.weights, d.holds = s.Weights, name
	return nil
}

// digest returns the digest of a task's result.
func digest(parts ...[]byte) [32]byte {
	return sha256.Sum256(bytes.Join(parts, nil))
}
