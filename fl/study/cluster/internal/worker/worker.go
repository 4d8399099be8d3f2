package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/kernels"
)

// errGone ends a session whose join file is gone.
var errGone = errors.New("the join file was removed: the study has probably ended")

// grace is how long a join file may be missing before the study counts as ended.
const grace = 3 * time.Second

// Options configure a worker. cluster.WorkerOptions has the same fields and documents them.
type Options struct {
	Join, Data, Credentials, Version string

	Workers  int
	Ended    func() bool
	Notice   func(line string)
	Patience time.Duration
}

func (o *Options) fill() {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Ended == nil {
		o.Ended = func() bool { return false }
	}
	o.Patience, o.Workers = cmp.Or(o.Patience, 10*time.Minute), cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
}

// Worker trains for a coordinator and for those that resume its study.
type Worker struct {
	options Options
	machine wire.Machine
	open    Opener

	of     wire.Welcome // what the engine was opened for
	engine Engine       // nil for none
	facts  study.Facts
	rounds atomic.Int64
	parts  atomic.Int64 // of shared rounds

	found bool          // the join file existed
	busy  chan struct{} // full while aside runs a function
}

// New returns a worker with the engines of an opener, such as Studies.
func New(o Options, open Opener) *Worker {
	o.fill()
	w := &Worker{options: o, machine: Machine(o.Version), open: open, busy: make(chan struct{}, 1)}
	w.machine.Workers = o.Workers
	return w
}

// Machine describes this process and its machine.
func Machine(version string) wire.Machine {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "worker"
	}
	return wire.Machine{
		Protocol: wire.Protocol, Version: version, Level: kernels.Current().String(), Host: host,
		PID: os.Getpid(), CPU: kernels.Processor(),
	}
}

// aside runs f in the background, after earlier calls, and waits for it until ctx ends:
// a round cannot be interrupted, but the worker need not wait for one that is no longer
// needed.
func (w *Worker) aside(ctx context.Context, f func()) error {
	select {
	case w.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { <-w.busy }()
		f()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Work joins the cluster of the join file, as soon as the file exists, and trains until
// the study ends, or until ctx ends and the current trial is handed over. If the
// coordinator is lost it waits for a resumed one as long as the join file exists: a
// study removes its join file when it ends.
func (w *Worker) Work(ctx context.Context) error {
	o := &w.options
	defer w.close()
	var lost, gone time.Time // since when there is no coordinator, no join file
	for {
		err := w.session(ctx, &lost)
		switch {
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			err = wire.ErrLeaving
		case (errors.Is(err, errGone) || errors.Is(err, wire.ErrNoLink)) && o.Ended():
			err = wire.ErrOver
		case !errors.Is(err, errGone):
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > grace:
			err = nil
		}
		switch {
		case err == nil || errors.Is(err, wire.ErrOver):
			o.Notice("the study has ended; this worker trained " + w.done())
			return nil
		case errors.Is(err, wire.ErrLeaving):
			return w.left()
		case errors.Is(err, wire.ErrAgain):
			lost = time.Time{}
			continue
		case !errors.Is(err, wire.ErrNoLink) && !errors.Is(err, errGone):
			return err
		}
		if lost.IsZero() {
			lost = time.Now()
			o.Notice(fmt.Sprintf("%v; reconnecting to the coordinator of %s", err, o.Join))
		}
		if time.Since(lost) > o.Patience {
			return fmt.Errorf("%s: no coordinator for %v: %w", o.Join, o.Patience, err)
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return w.left()
		}
	}
}

// left ends a worker that was asked to leave.
func (w *Worker) left() error {
	w.options.Notice("left; this worker trained " + w.done())
	return nil
}

// done summarizes what the worker has trained.
func (w *Worker) done() string {
	if w.parts.Load() == 0 {
		return fmt.Sprintf("%d rounds", w.rounds.Load())
	}
	return fmt.Sprintf("%d rounds and %d parts of rounds", w.rounds.Load(), w.parts.Load())
}

// close closes the engine once aside has finished.
func (w *Worker) close() {
	select {
	case w.busy <- struct{}{}:
		w.forget()
	default:
		go func() {
			w.busy <- struct{}{}
			w.forget()
		}()
	}
}
