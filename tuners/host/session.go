package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// session is a session of a Plugin: it knows the last recorded state and moves to a
// new process when the old one is lost.
type session struct {
	plugin *Plugin
	req    tuners.OpenRequest // State is the one that it was opened with
	at     *process           // where remote lives
	remote *tuners.RemoteSession
	seq    uint64 // mutating calls that were answered
	state  []byte // after them
	probes []string
	broken error // the tuner's own error, or that the session is closed: nothing can follow
}

var (
	_ tuners.Session = (*session)(nil)
	_ tuners.Prober  = (*session)(nil)
)

// attach opens the session in a process, unless it is there already.
func (s *session) attach(ctx context.Context, live *process) error {
	if s.at == live {
		return nil
	}
	req := s.req
	if s.seq > 0 {
		req.State = s.state
	}
	remote, err := live.remote.OpenAt(ctx, req, s.seq)
	if err != nil {
		return err
	}
	s.at, s.remote, s.probes = live, remote, remote.Probes()
	if s.seq == 0 {
		s.state = remote.State()
	}
	return nil
}

// call runs one call in the running process, after moving there.
func (s *session) call(ctx context.Context, what string, f func(context.Context) error) error {
	if s.broken != nil {
		return s.broken
	}
	err := s.plugin.do(ctx, what, func(ctx context.Context, live *process) error {
		if err := s.attach(ctx, live); err != nil {
			return err
		}
		if err := f(ctx); err != nil {
			s.at = nil // whatever happened, the recorded state is where the next call starts
			return err
		}
		s.seq, s.state = s.remote.Seq(), s.remote.State()
		return nil
	})
	if err != nil && ctx.Err() == nil {
		s.broken = err
	}
	return err
}

// Suggest asks what to do next.
func (s *session) Suggest(ctx context.Context, n int) (out []tuners.Decision, err error) {
	err = s.call(ctx, "Suggest", func(ctx context.Context) (err error) {
		out, err = s.remote.Suggest(ctx, n)
		return err
	})
	return out, err
}

// Report tells a score.
func (s *session) Report(ctx context.Context, r tuners.TrialReport) error {
	return s.call(ctx, "Report", func(ctx context.Context) error { return s.remote.Report(ctx, r) })
}

// PlanRound asks for the params of a round.
func (s *session) PlanRound(ctx context.Context, r tuners.PlanRequest) (out tuners.Plan, err error) {
	err = s.call(ctx, "PlanRound", func(ctx context.Context) (err error) {
		out, err = s.remote.PlanRound(ctx, r)
		return err
	})
	return out, err
}

// ObserveRound tells how a round went.
func (s *session) ObserveRound(ctx context.Context, o tuners.Observation) error {
	return s.call(ctx, "ObserveRound", func(ctx context.Context) error { return s.remote.ObserveRound(ctx, o) })
}

// State returns the state after the last answered call.
func (s *session) State() []byte { return s.state }

// Probes returns the probes that the session uses.
func (s *session) Probes() []string { return s.probes }

var errSessionClosed = errors.New("session is closed; open a new one from its last state")

// closePatience is how long a tuner may take to close a session.
const closePatience = 2 * time.Second

// Close ends the session. A session whose process is gone is closed already. A process
// that does not answer within two seconds is killed.
func (s *session) Close(ctx context.Context) error {
	s.plugin.mu.Lock()
	gone := s.at == nil || s.plugin.live != s.at
	s.plugin.mu.Unlock()
	if s.broken != nil {
		return nil
	}
	s.broken = s.plugin.named(errSessionClosed)
	if gone {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	begin := time.Now()
	err := s.remote.Close(ctx)
	if _, lost := errors.AsType[*tuners.LostError](err); lost {
		if err = nil; overdue(begin, closePatience) {
			err = fmt.Errorf("no response to Close within %v", closePatience)
		}
		s.plugin.discard(s.at)
	}
	s.at = nil
	if err != nil {
		return s.plugin.named(err)
	}
	return nil
}

// Local makes a tuner of this process behave like a launched one: its answers are
// checked. It is for tests and for tools.
func Local(t tuners.Tuner) tuners.Tuner { return local{t} }

type local struct{ tuners.Tuner }

// Open opens a checked session.
func (l local) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s, err := rules.Open(ctx, l.Tuner, req)
	if err != nil {
		return nil, err
	}
	return s, nil
}
