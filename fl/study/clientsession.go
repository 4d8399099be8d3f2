package study

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// clientSession is the client tuner's session about a trial. As long as the
// trial's rounds come from the record it is not open; then it is opened in the
// state that the record has reached. Its calls are two a round: a plan and an
// observation.
type clientSession struct {
	trial *trial
	live  *rules.Session // nil while it is not open
	calls int            // that led to where the trial is
	last  []byte         // its state when it was closed, if the trial may be forked
}

// candidateSlot is where a session's state at its trial's best round is kept,
// beside the two newest states.
const candidateSlot = 2

// wake opens the session where the trial is.
func (s *clientSession) wake(ctx context.Context) error {
	if s.live != nil {
		return nil
	}
	var err error
	s.live, err = s.at(ctx, s.calls)
	return err
}

// at opens a session in the state after a number of calls: the newest recorded state
// before, and the recorded calls from there repeated.
func (s *clientSession) at(ctx context.Context, calls int) (*rules.Session, error) {
	t := s.trial
	h := t.driver.history
	state, at, err := h.state(ctx, t.number, calls)
	if err != nil {
		return nil, err
	}
	if state == nil && t.source != nil {
		if state, err = t.source.session.stateAt(ctx, 2*(t.base-t.source.base)); err != nil {
			return nil, err
		}
	}
	if state == nil {
		state = t.driver.prepared
	}
	live, err := t.driver.openClientSession(ctx, t, state)
	if err != nil {
		return nil, err
	}
	for ; at < calls; at++ {
		if err := s.repeat(ctx, live, at); err != nil {
			return nil, fmt.Errorf("client tuner: %w", err)
		}
	}
	return live, nil
}

// repeat asks a session a recorded call again.
func (s *clientSession) repeat(ctx context.Context, live tuners.Session, call int) error {
	t := s.trial
	round := t.base + call/2
	if call%2 == 1 {
		rec, err := t.recorded(ctx, round)
		if err != nil {
			return err
		}
		if rec == nil {
			return fmt.Errorf("trial %d: round %d is missing in the record", t.number, round+1)
		}
		return live.ObserveRound(ctx, rec.observation(t.number, round))
	}
	data, err := t.recordedPlan(ctx, round)
	if err != nil {
		return err
	}
	got, err := live.PlanRound(ctx, s.request(round))
	if err != nil {
		return err
	}
	if !samePlan(data, got) {
		return fmt.Errorf("trial %d, round %d: the client tuner is not deterministic: its plan differs from the record", t.number, round+1)
	}
	return nil
}

// samePlan reports whether a recorded plan, nil for none, is one but for its notes.
func samePlan(data []byte, plan tuners.Plan) bool {
	var recorded, now map[string]json.RawMessage
	if data == nil || json.Unmarshal(data, &recorded) != nil {
		return false
	}
	delete(recorded, "Notes")
	plan.Notes = nil
	again, err := json.Marshal(plan)
	return err == nil && json.Unmarshal(again, &now) == nil &&
		maps.EqualFunc(recorded, now, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

func (s *clientSession) request(round int) tuners.PlanRequest {
	d := s.trial.driver
	r := tuners.PlanRequest{Trial: s.trial.number, Round: round, Slots: d.setup.Config.Cohort}
	if d.tellsKeys() {
		for _, client := range d.engine.Cohort(s.trial.number, round) {
			r.ClientKeys = append(r.ClientKeys, uint64(client))
		}
	}
	return r
}

// tellsKeys reports whether the client tuner learns who sits in the slots.
func (d *driver) tellsKeys() bool { return slices.Contains(d.clientScalars, tuners.ScalarClientKey) }

// plan asks for the params of the trial's next round and records the answer.
func (s *clientSession) plan(ctx context.Context) (tuners.Plan, error) {
	t := s.trial
	if err := s.wake(ctx); err != nil {
		return tuners.Plan{}, err
	}
	p, err := s.live.PlanRound(ctx, s.request(t.rounds))
	if err != nil {
		return tuners.Plan{}, fmt.Errorf("client tuner: %w", err)
	}
	s.calls++
	h := t.driver.history
	if err := h.append(KindPlan, t.number, t.rounds+1, p); err != nil {
		return tuners.Plan{}, err
	}
	return p, h.setState(t.number, s.calls%2, s.calls, s.live.State())
}

// observe tells how the round went whose record is rec.
func (s *clientSession) observe(ctx context.Context, rec *roundRecord) error {
	t := s.trial
	if err := s.wake(ctx); err != nil { // its plan was a recorded one
		return err
	}
	if err := s.live.ObserveRound(ctx, rec.observation(t.number, t.rounds)); err != nil {
		return fmt.Errorf("client tuner: %w", err)
	}
	s.calls++
	return t.driver.history.setState(t.number, s.calls%2, s.calls, s.live.State())
}

// stateAt returns the session's state after a number of calls. It opens a session
// for that when neither the live one nor the record is there.
func (s *clientSession) stateAt(ctx context.Context, calls int) ([]byte, error) {
	if s.live != nil && s.calls == calls {
		return slices.Clone(s.live.State()), nil
	}
	if s.last != nil && s.calls == calls {
		return s.last, nil
	}
	state, at, err := s.trial.driver.history.state(ctx, s.trial.number, calls)
	if err != nil || state != nil && at == calls {
		return state, err
	}
	live, err := s.at(ctx, calls)
	if err != nil {
		return nil, err
	}
	state = slices.Clone(live.State())
	return state, live.Close(ctx)
}

// remember keeps the state for copies of a trial that is stopped.
func (s *clientSession) remember() {
	if s != nil && s.live != nil {
		s.last = slices.Clone(s.live.State())
	}
}

// close ends the session, if it is open.
func (s *clientSession) close(ctx context.Context) error {
	if s == nil || s.live == nil {
		return nil
	}
	live := s.live
	s.live = nil
	return live.Close(ctx)
}
