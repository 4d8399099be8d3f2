package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"

	"github.com/klauspost/cpuid/v2"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/kernels"
)

// WorkerOptions configure a worker. None of them affects a result.
type WorkerOptions struct {
	// Join is the path of the join file, which need not exist yet.
	Join string
	// Data is the path of the data on this machine. Empty means the study's data.path.
	Data string
	// Credentials is the path of a credentials file for an external NATS server.
	// Empty means none.
	Credentials string
	// Version is the version of this program.
	Version string
	// Workers is the maximum number of concurrent clients (0: number of CPUs).
	Workers int
	// Ended reports whether the study already has its result, so that the join file
	// will not be written again. Nil means it never has.
	Ended func() bool
	// Notice receives progress messages. Nil disables them.
	Notice func(line string)
	// Patience is how long the worker tries to reach a lost coordinator
	// (0: 10 minutes).
	Patience time.Duration

	change func(record []byte) []byte // in tests: changes its records
	slow   time.Duration              // in tests: delays each round
	stall  func(rounds int)           // in tests: called before each round
}

// errGone ends a session whose join file is gone.
var errGone = errors.New("the join file was removed: the study has probably ended")

// grace is how long a join file may be missing before the study counts as ended.
const grace = 3 * time.Second

// RefusedError is returned when a coordinator refuses a worker. Its field Why is the reason.
type RefusedError = wire.RefusedError

// thisMachine describes this process and its machine.
func thisMachine(version string) wire.Machine {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "worker"
	}
	return wire.Machine{
		Protocol: wire.Protocol, Version: version, Level: kernels.Current().String(), Host: host, PID: os.Getpid(), CPU: cpuid.CPU.BrandName,
	}
}

// worker is the worker of this process.
type worker struct {
	options WorkerOptions
	machine wire.Machine

	of     wire.Welcome // what it is prepared for, empty if nothing
	study  trainer
	facts  study.Facts
	rounds atomic.Int64
	parts  atomic.Int64 // of shared rounds

	found bool          // the join file existed
	busy  chan struct{} // full while aside runs a function
}

// aside runs f in the background, after earlier calls, and waits for it until ctx ends:
// a round cannot be interrupted, but the worker need not wait for one that is no longer
// needed.
func (w *worker) aside(ctx context.Context, f func()) error {
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

// Work joins the cluster of a join file, as soon as the file exists, and trains until
// the study ends, or until ctx ends and the current trial is handed over. If the
// coordinator is lost it waits for a resumed one as long as the join file exists: a
// study removes its join file when it ends.
func Work(ctx context.Context, o WorkerOptions) error {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.Ended == nil {
		o.Ended = func() bool { return false }
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	w := newWorker(o)
	w.machine.Workers = o.Workers
	return w.work(ctx)
}

func newWorker(o WorkerOptions) *worker {
	return &worker{options: o, machine: thisMachine(o.Version), busy: make(chan struct{}, 1)}
}

// work implements Work.
func (w *worker) work(ctx context.Context) error {
	o := &w.options
	defer w.close()
	var lost, gone time.Time // since when there is no coordinator, no join file
	for {
		err := w.session(ctx, &lost)
		switch {
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
			o.Notice("left; this worker trained " + w.done())
			return nil
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
			return ctx.Err()
		}
	}
}

// done summarizes what the worker has trained.
func (w *worker) done() string {
	if w.parts.Load() == 0 {
		return fmt.Sprintf("%d rounds", w.rounds.Load())
	}
	return fmt.Sprintf("%d rounds and %d parts of rounds", w.rounds.Load(), w.parts.Load())
}

// close closes the engine once aside has finished.
func (w *worker) close() {
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

// forget closes the engine.
func (w *worker) forget() {
	if w.study != nil {
		w.study.Close()
		w.study, w.of = nil, wire.Welcome{}
	}
}

// session is one session with a coordinator, beginning with the hello. It resets lost
// when a coordinator answers.
func (w *worker) session(ctx context.Context, lost *time.Time) error {
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
	second, err := l.Hello(ctx, wire.Hello{Machine: w.machine, Worker: first.Worker, Facts: &w.facts})
	if err != nil {
		return err
	}
	*lost = time.Time{}
	w.options.Notice("joined as " + oneline.Of(second.Name))
	l.Begin(first)
	return (&workerLoop{worker: w, link: l}).serve(ctx)
}

// connect connects to a coordinator but returns when ctx ends: a coordinator that does
// not answer takes a long time.
func (w *worker) connect(ctx context.Context, j *wire.Join) (*wire.Link, error) {
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
func (w *worker) join(ctx context.Context) (*wire.Join, error) {
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
func (w *worker) prepared(ctx context.Context, l *wire.Link, of *wire.Welcome) error {
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

// prepare opens the data, builds the model and trains a few rounds whose bits the
// coordinator compares.
func (w *worker) prepare(ctx context.Context, of *wire.Welcome) error {
	task := wire.Welcome{Config: of.Config, Plain: of.Plain}
	if w.of == task {
		return nil
	}
	w.forget()
	c, err := config.Load(config.Source{Text: task.Config})
	if err != nil {
		return fmt.Errorf("the study's configuration: %w", err)
	}
	if w.options.Data != "" {
		if err := c.Move([]string{"data.path=" + strconv.Quote(w.options.Data)}); err != nil {
			return fmt.Errorf("--data: %w", err)
		}
		if err := c.Absolute(); err != nil {
			return fmt.Errorf("--data: %w", err)
		}
	}
	s := study.Setup{Config: *c, Workers: w.options.Workers, Unscored: task.Plain}
	if s.Data, s.Model, err = config.Prepare(ctx, &s.Config); err != nil {
		return err
	}
	trains, err := study.NewWorker(s)
	if err != nil {
		return err
	}
	w.study = engine{trains}
	if w.facts, err = trains.Facts(ctx); err != nil {
		return err
	}
	w.of = task
	return nil
}
