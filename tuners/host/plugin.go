package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// ErrLost is wrapped by the error of a call that a tuner did not answer although it
// was started again as often as Options allow.
var ErrLost = errors.New("tuner process lost")

// Options say how a tuner is supervised. The zero value takes the defaults.
type Options struct {
	StartTimeout time.Duration // from start to handshake; 0 takes 60 s
	CallTimeout  time.Duration // of one call; 0 takes 60 s
	Restarts     int           // how often one call is repeated in a new process; 0 takes 3, negative none
	Backoff      time.Duration // wait before the first repetition, doubled each time; 0 takes 100 ms
	Logger       *slog.Logger  // nil takes slog.Default()
	Env          []string      // "KEY=value" for the process, beside what it gets of this process's environment

	// NoDeathSignal starts the process without the system's parent-death signal, so
	// that the tuner itself has to notice that its host is gone, as it must on
	// other systems than Linux. It is for checks of tuners.
	NoDeathSignal bool
}

func (o Options) withDefaults() Options {
	o.StartTimeout, o.CallTimeout = cmp.Or(o.StartTimeout, 60*time.Second), cmp.Or(o.CallTimeout, 60*time.Second)
	o.Restarts, o.Backoff, o.Logger = cmp.Or(o.Restarts, 3), cmp.Or(o.Backoff, 100*time.Millisecond), cmp.Or(o.Logger, slog.Default())
	return o
}

// maxBackoff bounds the wait before a repetition.
const maxBackoff = 5 * time.Second

// Plugin is a tuner in a supervised subprocess. Its methods may be called from
// several goroutines.
type Plugin struct {
	ref     Ref
	options Options
	about   tuners.Description
	unhook  func() bool
	life    context.Context // ends with Close
	die     context.CancelFunc
	starts  chan struct{} // holds one while a process is being started

	mu       sync.Mutex
	live     *process // nil: none runs, the next call starts one
	restarts int
}

var _ tuners.Tuner = (*Plugin)(nil)

// Launch starts a tuner and asks what it is. The process ends with ctx, with Close,
// or with this process. A tuner that does not start is not tried again; later
// crashes are, see Options.
func Launch(ctx context.Context, ref Ref, o Options) (*Plugin, error) {
	p := &Plugin{ref: ref, options: o.withDefaults(), starts: make(chan struct{}, 1)}
	p.life, p.die = context.WithCancel(context.Background())
	if ref.Attach != nil {
		p.options.CallTimeout = max(p.options.CallTimeout, attachTimeout)
	}
	live, err := start(ctx, ref, p.options)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, p.named(err)
	}
	p.live = live
	live.remote = tuners.NewRemote(live.conn, ref.Name)
	call, cancel := context.WithTimeout(ctx, p.options.CallTimeout)
	defer cancel()
	begin := time.Now()
	p.about, err = live.remote.Describe(call)
	if err == nil {
		err = rules.Description(ref.Name, p.about)
	} else if overdue(begin, p.options.CallTimeout) {
		err = fmt.Errorf("no response to Describe within %v", p.options.CallTimeout)
	}
	if err != nil {
		live.kill(true)
		return nil, p.named(fmt.Errorf("invalid description: %w%s", err, live.said()))
	}
	p.unhook = context.AfterFunc(ctx, p.end)
	return p, nil
}

// Ref returns which program this is.
func (p *Plugin) Ref() Ref { return p.ref }

// Restarts returns how often the process was lost and a new one was needed.
func (p *Plugin) Restarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts
}

// PID returns the number of the running process, 0 when there is none or when it is
// attached to.
func (p *Plugin) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil || p.live.runs == nil {
		return 0
	}
	return p.live.runs.pid
}

// Secure says whether the connection is TLS with certificates on both sides.
// Without, it is a socket that only this user can reach.
func (p *Plugin) Secure() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live != nil && p.live.runs != nil && p.live.runs.stdout.secure
}

// Noise returns what the running process printed to stdout, which belongs to the
// handshake: tuners write to stderr.
func (p *Plugin) Noise() Noise {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live == nil || p.live.runs == nil {
		return Noise{}
	}
	return p.live.runs.stdout.read()
}

// Close ends the process. Sessions that are open fail from then on.
func (p *Plugin) Close() {
	p.unhook()
	p.end()
}

// end kills the process for good, also one that is being started.
func (p *Plugin) end() {
	p.die()
	p.starts <- struct{}{} // and nobody starts one any more
	p.mu.Lock()
	live := p.live
	p.live = nil
	p.mu.Unlock()
	<-p.starts
	if live != nil {
		live.kill(false)
	}
}

// named puts the tuner's name before an error.
func (p *Plugin) named(err error) error { return fmt.Errorf("tuner %q: %w", p.ref.Name, err) }

// Describe returns what the tuner said when it was launched.
func (p *Plugin) Describe(context.Context) (tuners.Description, error) { return p.about, nil }

// Ping asks the running process for its health; a process that is being started
// again is not well.
func (p *Plugin) Ping(ctx context.Context) error {
	p.mu.Lock()
	live := p.live
	p.mu.Unlock()
	if live == nil {
		return p.named(errors.New("not running"))
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.CallTimeout)
	defer cancel()
	if err := live.ping(ctx); err != nil {
		return p.named(fmt.Errorf("unhealthy: %s", firstLine(err)))
	}
	return nil
}

// Validate asks what is wrong with a set-up.
func (p *Plugin) Validate(ctx context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	var problems []tuners.Problem
	err := p.do(ctx, "Validate", func(ctx context.Context, live *process) (err error) {
		problems, err = live.remote.Validate(ctx, req)
		return err
	})
	return problems, err
}

// Work asks what the tuner trains in addition to the budget's rounds.
func (p *Plugin) Work(ctx context.Context, req tuners.ValidateRequest) (tuners.Work, error) {
	var work tuners.Work
	err := p.do(ctx, "Validate", func(ctx context.Context, live *process) (err error) {
		work, err = live.remote.Work(ctx, req)
		return err
	})
	return work, err
}

// Open opens a session that survives crashes of the process: it is opened again
// with its last recorded state and only the call that was not answered is repeated.
// What the tuner answers is checked, see rules.Session.
func (p *Plugin) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s := &session{plugin: p, req: req}
	if err := p.do(ctx, "Open", s.attach); err != nil {
		return nil, err
	}
	s.req.State = s.state
	checked, err := rules.Check(p.about, req, s)
	if err != nil {
		return nil, p.named(err)
	}
	return checked, nil
}

// process returns the running process, starting one when there is none.
func (p *Plugin) process(ctx context.Context) (*process, error) {
	select {
	case p.starts <- struct{}{}:
		defer func() { <-p.starts }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.life.Err() != nil {
		return nil, errClosed
	}
	p.mu.Lock()
	live := p.live
	p.mu.Unlock()
	if live != nil {
		return live, nil
	}
	starting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	live, err := start(starting, p.ref, p.options)
	if err != nil && p.life.Err() != nil {
		err = errClosed
	}
	if err != nil {
		return nil, err
	}
	live.remote = tuners.NewRemote(live.conn, p.ref.Name)
	p.mu.Lock()
	p.live = live
	p.mu.Unlock()
	return live, nil
}

var errClosed = errors.New("is closed")

// discard kills a process that was lost.
func (p *Plugin) discard(lost *process) {
	p.mu.Lock()
	mine := p.live == lost
	if mine {
		p.live = nil
		p.restarts++
	}
	p.mu.Unlock()
	if mine {
		lost.kill(true)
	}
}

// do runs one call. A process that does not answer in time, or dies, is killed; a
// new one gets the same call, with growing waits.
func (p *Plugin) do(ctx context.Context, what string, call func(context.Context, *process) error) error {
	wait := p.options.Backoff
	for attempt := 1; ; attempt++ {
		err := p.try(ctx, what, call)
		if errors.Is(err, errClosed) && ctx.Err() != nil {
			err = ctx.Err() // both ended with the same context
		}
		var lost *lostError
		if !errors.As(err, &lost) {
			if err != nil {
				return p.named(err)
			}
			return nil
		}
		if ctx.Err() != nil {
			return p.named(ctx.Err())
		}
		if attempt > p.options.Restarts {
			return p.named(fmt.Errorf("%w: %s, %d times in a row", ErrLost, lost.why, attempt))
		}
		p.options.Logger.Warn("tuner process lost; restarting", "tuner", p.ref.Name, "why", lost.why)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return p.named(ctx.Err())
		}
		wait = min(2*wait, maxBackoff)
	}
}

// lostError says why a process is of no use any more.
type lostError struct{ why string }

func (e *lostError) Error() string { return e.why }

// overdue reports whether a call that began then failed because its time was over. The
// other end knows the deadline, too, and may be the first to end the call.
func overdue(begin time.Time, limit time.Duration) bool { return time.Since(begin) > limit*9/10 }

// try runs one call once.
func (p *Plugin) try(ctx context.Context, what string, call func(context.Context, *process) error) error {
	live, err := p.process(ctx)
	if err != nil {
		if errors.Is(err, errClosed) || errors.Is(err, errChanged) || p.ref.Attach != nil {
			return err
		}
		return &lostError{why: firstLine(err)}
	}
	timed, cancel := context.WithTimeout(ctx, p.options.CallTimeout)
	defer cancel()
	begin := time.Now()
	err = call(timed, live)
	var lost *tuners.LostError
	if !errors.As(err, &lost) {
		return err
	}
	late := overdue(begin, p.options.CallTimeout)
	p.discard(live)
	if p.ref.Attach != nil {
		return fmt.Errorf("%w: the attached process did not respond to %s (%s); restart it", ErrLost, what, firstLine(lost))
	}
	if late {
		return &lostError{why: fmt.Sprintf("no response to %s within %v", what, p.options.CallTimeout)}
	}
	return &lostError{why: fmt.Sprintf("process exited during %s (%s)%s", what, firstLine(lost), live.said())}
}
