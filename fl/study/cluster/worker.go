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

	"github.com/klauspost/cpuid/v2"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/kernels"
)

// WorkerOptions say how a worker works. None of them reaches a result.
type WorkerOptions struct {
	// Join is the path of the join file, which may be yet to come.
	Join string
	// Data is where this machine has the data; empty is where the study has them.
	Data string
	// Credentials is the path of a file with which a server of others lets this
	// process in; empty is none.
	Credentials string
	// Version is what this fedfast is.
	Version string
	// Workers is how many clients train at once; 0 is one a processor.
	Workers int
	// Ended says that the study has come to its result, so that nobody will write the
	// join file any more; nil is never.
	Ended func() bool
	// Notice is told in lines what happens; nil is nobody.
	Notice func(line string)
	// Patience is how long the worker looks for a coordinator that it had and lost,
	// 0 for 10 minutes.
	Patience time.Duration

	change func(record []byte) []byte // tests have it lie
	slow   time.Duration              // tests have each round take longer
	twice  bool                       // tests have it say everything twice
	stall  func(rounds int)           // tests have the round after so many take longer
}

// A worker's session ends, besides with an error, when it must say hello again, or
// when its connection is lost.
var (
	errAgain   = errors.New("the coordinator has given this worker up")
	errNoLink  = errors.New("the connection is lost")
	errOver    = errors.New("all studies have ended")
	errLeaving = errors.New("this worker was asked to end")
	errGone    = errors.New("the join file was removed, as at the end of a study")
)

// grace is how long a join file may be out of sight before the study has ended.
const grace = 3 * time.Second

// RefusedError says why a coordinator does not want a worker.
type RefusedError struct{ Why string }

// Error tells why.
func (e *RefusedError) Error() string { return "the coordinator refuses this worker: " + e.Why }

// thisMachine says where and what this process is.
func thisMachine(version string) Machine {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "worker"
	}
	return Machine{
		Protocol: protocolVersion, Version: version, Level: kernels.Current().String(), Host: host, PID: os.Getpid(), CPU: cpuid.CPU.BrandName,
	}
}

// worker is this process as a worker.
type worker struct {
	options WorkerOptions
	machine Machine

	of     welcome // says for what it is prepared, empty for nothing
	study  trainer
	facts  study.Facts
	rounds atomic.Int64
	parts  atomic.Int64 // of rounds that workers shared

	found bool          // the join file was there
	busy  chan struct{} // holds one while something is done aside
}

// aside does something behind what was begun so before, and waits for it while ctx
// lasts: nobody can interrupt a round, but the worker need not wait for one that is of no
// use any more.
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

// Work joins the cluster of a join file, as soon as that is there, and trains until
// the study ends, or until ctx does and the trial at hand is handed over. It waits
// for a coordinator that is lost, which may be resumed elsewhere, as long as the join
// file is there: a study that ends removes it.
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

// work is Work.
func (w *worker) work(ctx context.Context) error {
	o := &w.options
	defer w.close()
	var lost, gone time.Time // since when there is no coordinator, no join file
	for {
		err := w.session(ctx, &lost)
		switch {
		case (errors.Is(err, errGone) || errors.Is(err, errNoLink)) && o.Ended():
			err = errOver
		case !errors.Is(err, errGone):
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > grace:
			err = nil
		}
		switch {
		case err == nil || errors.Is(err, errOver):
			o.Notice("the study has ended; this worker trained " + w.done())
			return nil
		case errors.Is(err, errLeaving):
			o.Notice("left; this worker trained " + w.done())
			return nil
		case errors.Is(err, errAgain):
			lost = time.Time{}
			continue
		case !errors.Is(err, errNoLink) && !errors.Is(err, errGone):
			return err
		}
		if lost.IsZero() {
			lost = time.Now()
			o.Notice(fmt.Sprintf("%v; trying to reach the coordinator of %s again", err, o.Join))
		}
		if time.Since(lost) > o.Patience {
			return fmt.Errorf("no coordinator was found by %s for %v: %w", o.Join, o.Patience, err)
		}
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// done says what the worker has done.
func (w *worker) done() string {
	if w.parts.Load() == 0 {
		return fmt.Sprintf("%d rounds", w.rounds.Load())
	}
	return fmt.Sprintf("%d rounds and %d parts of rounds", w.rounds.Load(), w.parts.Load())
}

// close ends the engine, once nothing is done aside any more.
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

// forget ends the engine.
func (w *worker) forget() {
	if w.study != nil {
		w.study.Close()
		w.study, w.of = nil, welcome{}
	}
}

// session is one time with a coordinator, from the hello on. It sets lost to zero
// when it has found one.
func (w *worker) session(ctx context.Context, lost *time.Time) error {
	j, err := w.join(ctx)
	if err != nil {
		return err
	}
	l, err := w.connect(ctx, j)
	if err != nil {
		return err
	}
	defer l.close()
	l.twice, l.ended = w.options.twice, w.options.Ended
	first, err := l.hello(ctx, hello{Machine: w.machine})
	if err != nil {
		return err
	}
	if why := first.wrong(); why != "" {
		return fmt.Errorf("the coordinator sent a bad welcome: %s", why)
	}
	if err := w.prepared(ctx, l, first); err != nil {
		return err
	}
	second, err := l.hello(ctx, hello{Machine: w.machine, Worker: first.Worker, Facts: &w.facts})
	if err != nil {
		return err
	}
	*lost = time.Time{}
	w.options.Notice("joined as " + oneline.Of(second.Name))
	l.tag = first.Tag
	l.begin(first.Worker, time.Duration(first.Beat)*time.Millisecond)
	return (&desk{worker: w, link: l}).serve(ctx)
}

// connect connects to a coordinator while ctx lasts: one that does not answer takes long.
func (w *worker) connect(ctx context.Context, j *join) (*link, error) {
	var l *link
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		l, err = connect(j, w.options.Join, credentials(w.options.Credentials)...)
	}()
	select {
	case <-done:
		return l, err
	case <-ctx.Done():
	}
	go func() {
		if <-done; l != nil {
			l.close()
		}
	}()
	return nil, ctx.Err()
}

// join reads the join file, for which it waits the first time.
func (w *worker) join(ctx context.Context) (*join, error) {
	if w.found {
		j, err := readJoin(w.options.Join)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errGone
		}
		return j, err
	}
	j, err := waitJoin(ctx, w.options.Join, w.options.Ended, w.options.Notice)
	w.found = err == nil
	return j, err
}

// prepared prepares for a study while there is a coordinator.
func (w *worker) prepared(ctx context.Context, l *link, of *welcome) error {
	while, done := l.alive(ctx)
	defer done()
	var err error
	left := w.aside(while, func() { err = w.prepare(while, of) })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case while.Err() != nil:
		return errNoLink
	case left != nil:
		return left
	}
	return err
}

// prepare opens the data and builds the network of a study file, and trains a few
// rounds to see what bits they have here.
func (w *worker) prepare(ctx context.Context, of *welcome) error {
	task := welcome{Config: of.Config, Plain: of.Plain}
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
