package replay

import (
	"context"
	"slices"

	"github.com/fedfast/fedfast/internal/rules"
)

// Replayer is a tuner's session with a memory. Its recorded calls are answered from the
// record; the tuner itself is opened in its last recorded state for the first call
// after them.
type Replayer struct {
	past    *Past
	number  int // of the session, in the record
	session Session
	calls   int            // that led to where the session is
	live    *rules.Session // nil while it is not open
	last    []byte         // its state when it was closed, where no store keeps it
}

// Session is how a kind of session is brought back.
type Session interface {
	// Reopen opens the session in a recorded state, to which a number of calls have led;
	// nil is its beginning.
	Reopen(ctx context.Context, state []byte, calls int) (*rules.Session, error)
	// Repeat makes a recorded call again, and returns an error if its answer is not the
	// recorded one.
	Repeat(ctx context.Context, live *rules.Session, call int) error
}

// NewReplayer returns one for the session of a number, at its beginning.
func (p *Past) NewReplayer(number int, s Session) *Replayer {
	return &Replayer{past: p, number: number, session: s}
}

// Live returns the session where it is, and opens it if need be.
func (r *Replayer) Live(ctx context.Context) (*rules.Session, error) {
	if r.live != nil {
		return r.live, nil
	}
	var err error
	r.live, err = r.at(ctx, r.calls)
	return r.live, err
}

// Awake reports whether the session is open.
func (r *Replayer) Awake() bool { return r.live != nil }

// at opens a session in the state after a number of calls: the newest recorded state
// before, and the recorded calls from there repeated, since the state was lost or the
// tuner keeps none.
func (r *Replayer) at(ctx context.Context, calls int) (*rules.Session, error) {
	state, at, err := r.past.state(ctx, r.number, calls)
	if err != nil {
		return nil, err
	}
	if calls == r.calls && r.last != nil {
		state, at = r.last, calls
	}
	live, err := r.session.Reopen(ctx, state, at)
	if err != nil {
		return nil, err
	}
	for ; at < calls; at++ {
		if err := r.session.Repeat(ctx, live, at); err != nil {
			r.past.end(live)
			return nil, err
		}
	}
	return live, nil
}

// Skip passes over calls that are answered from the record.
func (r *Replayer) Skip(calls int) { r.calls += calls }

// Answered counts a call that the live session has answered, and keeps the state after
// it beside the one before.
func (r *Replayer) Answered() error {
	r.calls++
	return r.past.SetState(r.number, r.calls%2, r.calls, r.live.State())
}

// Keep keeps the live session's state in a slot, and returns it; 0 and 1 belong to
// Answered.
func (r *Replayer) Keep(slot int) ([]byte, error) {
	state := slices.Clone(r.live.State())
	return state, r.past.SetState(r.number, slot, r.calls, state)
}

// State returns the session's state where it is.
func (r *Replayer) State(ctx context.Context) ([]byte, error) { return r.StateAt(ctx, r.calls) }

// StateAt returns the session's state after a number of calls. It opens a session
// for that when neither the live one nor the record is there.
func (r *Replayer) StateAt(ctx context.Context, calls int) ([]byte, error) {
	if r.calls == calls && r.live != nil {
		return slices.Clone(r.live.State()), nil
	}
	if r.calls == calls && r.last != nil {
		return r.last, nil
	}
	state, at, err := r.past.state(ctx, r.number, calls)
	if err != nil || state != nil && at == calls {
		return state, err
	}
	live, err := r.at(ctx, calls)
	if err != nil {
		return nil, err
	}
	state = slices.Clone(live.State())
	r.past.end(live)
	return state, nil
}

// Rest closes the session until its next call, if its tuner has given a state that brings
// it back.
func (r *Replayer) Rest() {
	if r.Awake() && r.live.State() != nil {
		r.Close()
	}
}

// Close ends the session, if it is open.
func (r *Replayer) Close() {
	if r.Awake() {
		if r.past.Store == nil {
			r.last = slices.Clone(r.live.State())
		}
		r.past.end(r.live)
		r.live = nil
	}
}

// end closes a session. What a tuner does then decides nothing any more, so that an
// error is only logged.
func (p *Past) end(live *rules.Session) {
	if err := live.Close(context.Background()); err != nil {
		p.Log.Warn("a tuner did not close its session", "why", err)
	}
}
