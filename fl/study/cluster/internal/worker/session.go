package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// session is one session with a coordinator, beginning with the hello. It resets lost
// when a coordinator answers.
func (w *Worker) session(ctx context.Context, lost *time.Time) error {
	j, err := w.join(ctx)
	if err != nil {
		return err
	}
	l, err := w.connect(ctx, j)
	if err != nil {
		return err
	}
	defer l.Close()
	l.Ended = w.options.Ended
	first, err := l.Hello(ctx, wire.Hello{Machine: w.machine})
	if err != nil {
		return err
	}
	if why := first.Wrong(); why != "" {
		return fmt.Errorf("invalid welcome from the coordinator: %s", why)
	}
	if err := w.prepared(ctx, l, first); err != nil {
		return err
	}
	// before it joins: without blobs it would be of no use
	blobs, err := l.OpenBlobs(ctx, first.Tag, w.engine.MostBytes())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	second, err := l.Hello(ctx, wire.Hello{Machine: w.machine, Worker: first.Worker, Facts: &w.facts})
	if err != nil {
		return err
	}
	*lost = time.Time{}
	w.options.Notice("joined as " + oneline.Of(second.Name))
	l.Begin(first)
	return (&loop{worker: w, link: l, blobs: blobs}).serve(ctx)
}

// connect connects to a coordinator but returns when ctx ends: a coordinator that does
// not answer takes a long time.
func (w *Worker) connect(ctx context.Context, j *wire.Join) (*wire.Link, error) {
	var l *wire.Link
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		l, err = wire.Connect(j, w.options.Join, w.options.Credentials)
	}()
	select {
	case <-done:
		return l, err
	case <-ctx.Done():
	}
	go func() {
		if <-done; l != nil {
			l.Close()
		}
	}()
	return nil, ctx.Err()
}

// join reads the join file. The first time it waits for it.
func (w *Worker) join(ctx context.Context) (*wire.Join, error) {
	if w.found {
		j, err := wire.ReadJoin(w.options.Join)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errGone
		}
		return j, err
	}
	j, err := wire.WaitJoin(ctx, w.options.Join, w.options.Ended, w.options.Notice)
	w.found = err == nil
	return j, err
}

// prepared calls prepare as long as the connection is alive.
func (w *Worker) prepared(ctx context.Context, l *wire.Link, of *wire.Welcome) error {
	while, done := l.Alive(ctx)
	defer done()
	var err error
	left := w.aside(while, func() { err = w.prepare(while, of) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case while.Err() != nil:
		return wire.ErrNoLink
	case left != nil:
		return left
	}
	return err
}

// prepare opens the engine, and with it the data, unless it is open. Its facts are from a
// few rounds whose bits the coordinator compares.
func (w *Worker) prepare(ctx context.Context, of *wire.Welcome) (err error) {
	task := wire.Welcome{Config: of.Config, Plain: of.Plain}
	if w.engine != nil && w.of == task {
		return nil
	}
	w.forget()
	w.engine, w.facts, err = w.open(ctx, task.Config, task.Plain)
	w.of = task
	return err
}

// forget closes the engine.
func (w *Worker) forget() {
	if w.engine != nil {
		w.engine.Close()
		w.engine = nil
	}
}
