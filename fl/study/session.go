package study

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// decider is a tuner's session that decides about trials, with a memory: the
// answers that are recorded come from the record, and the tuner itself is opened
// in its last recorded state only for the first call behind them.
type decider struct {
	history *history
	number  int    // of the session in the journal
	name    string // of the tuner, for errors
	open    func(ctx context.Context, state []byte) (tuners.Session, error)

	past  []callRecord
	calls int            // answered so far
	live  tuners.Session // nil while the answers are recorded ones
}

// next returns the recorded answer to a call, nil when there is none.
func (s *decider) next(kind string) (*callRecord, error) {
	if s.calls == len(s.past) {
		return nil, nil
	}
	c := &s.past[s.calls]
	if c.kind != kind {
		return nil, fmt.Errorf("call %d of the tuner is a %s in the record and a %s now; the record is of another version of fedfast", s.calls, c.kind, kind)
	}
	s.calls++
	return c, nil
}

// wake opens the tuner's session where the record ends.
func (s *decider) wake(ctx context.Context) error {
	if s.live != nil {
		return nil
	}
	state, at, err := s.history.state(ctx, s.number, s.calls)
	if err != nil {
		return err
	}
	if s.live, err = s.open(ctx, state); err != nil {
		return err
	}
	if err := s.recall(at); err != nil {
		return err
	}
	for ; at < s.calls; at++ { // the state was lost, or the tuner keeps none
		if err := s.repeat(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// recall tells the host's checks, which see no call before the state, what was decided and reported: else they would take a trial that
// does not exist for one of those, and the wrong decision would be recorded.
func (s *decider) recall(calls int) error {
	r, ok := s.live.(tuners.Recaller)
	if !ok {
		return nil
	}
	for i := range s.past[:calls] {
		c := &s.past[i]
		if c.kind == kindReport {
			r.RecallReport(c.report())
			continue
		}
		decisions, err := c.decisions()
		if err != nil {
			return err
		}
		r.RecallSuggest(decisions)
	}
	return nil
}

// repeat asks the tuner a recorded call again.
func (s *decider) repeat(ctx context.Context, call int) error {
	c := &s.past[call]
	if c.kind == kindReport {
		return s.live.Report(ctx, c.report())
	}
	decisions, err := s.live.Suggest(ctx, c.N)
	if err != nil {
		return err
	}
	if again := suggestRecord(c.N, decisions); !again.same(c) {
		return fmt.Errorf("tuner %s: asked call %d again, it decides otherwise than the record says", s.name, call)
	}
	return nil
}

// answered records a call with its answer and the state after it.
func (s *decider) answered(c callRecord) error {
	s.calls++
	s.past = append(s.past, c)
	if err := s.history.append(c.kind, s.number, c.Round, c); err != nil {
		return err
	}
	return s.history.setState(s.number, s.calls%2, s.calls, s.live.State())
}

// Suggest returns the next decisions, which are durable before anyone acts on
// them.
func (s *decider) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	c, err := s.next(kindSuggest)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return c.decisions()
	}
	if err := s.wake(ctx); err != nil {
		return nil, err
	}
	decisions, err := s.live.Suggest(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := s.answered(suggestRecord(n, decisions)); err != nil {
		return nil, err
	}
	return decisions, s.history.flush()
}

// Report tells the tuner a score.
func (s *decider) Report(ctx context.Context, r tuners.TrialReport) error {
	now := reportRecord(r)
	c, err := s.next(kindReport)
	if err != nil {
		return err
	}
	if c != nil {
		if !c.same(&now) {
			return fmt.Errorf("trial %d at round %d: repeated from its record it is reported otherwise than the record says", r.Trial, r.Round)
		}
		return nil
	}
	if err := s.wake(ctx); err != nil {
		return err
	}
	if err := s.live.Report(ctx, r); err != nil {
		return err
	}
	return s.answered(now)
}

// Close ends the tuner's session, if it was needed.
func (s *decider) Close(ctx context.Context) error {
	if s.live == nil {
		return nil
	}
	return s.live.Close(ctx)
}
