package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// decider is a tuner's session that decides about trials, with a memory: the
// answers that are recorded come from the record, and the tuner itself is opened
// in its last recorded state only for the first call behind them.
type decider struct {
	history *history
	name    string // of the tuner, for errors
	tuner   tuners.Tuner
	about   tuners.Description
	req     tuners.OpenRequest // its Trial is the number of the session in the journal

	past  []callRecord
	calls int            // answered so far
	live  *rules.Session // nil while the answers are recorded ones
}

func (d *driver) decider(name string, t tuners.Tuner, about tuners.Description, req tuners.OpenRequest) *decider {
	return &decider{history: d.history, name: name, tuner: t, about: about, req: req, past: d.history.calls[req.Trial]}
}

// book returns an empty book for the session's decisions.
func (s *decider) book() *rules.Book { return rules.NewBook(s.about, s.req) }

// next returns the recorded answer to a call, nil when there is none.
func (s *decider) next(kind string) (*callRecord, error) {
	if s.calls == len(s.past) {
		return nil, nil
	}
	c := &s.past[s.calls]
	if c.kind != kind {
		return nil, fmt.Errorf("call %d of tuner %s is a %s in the record and a %s now: the record was written by a version of fedfast with another order of calls; finish the study with that version, or start it again in another directory", s.calls, s.name, c.kind, kind)
	}
	s.calls++
	return c, nil
}

// wake opens the tuner's session where the record ends.
func (s *decider) wake(ctx context.Context) error {
	if s.live != nil {
		return nil
	}
	state, at, err := s.history.state(ctx, s.req.Trial, s.calls)
	if err != nil {
		return err
	}
	req := s.req
	req.State = state
	if s.live, err = rules.Open(ctx, s.tuner, req); err != nil {
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

// recall tells the checks of the session, which see no call before the state, what
// was decided and reported: else they would take a trial that does not exist for
// one of those, and the wrong decision would be recorded.
func (s *decider) recall(calls int) error {
	for i := range s.past[:calls] {
		c := &s.past[i]
		if c.kind == KindReport {
			s.live.RecallReport(c.report())
			continue
		}
		decisions, err := c.decisions()
		if err != nil {
			return err
		}
		s.live.RecallSuggest(decisions)
	}
	return nil
}

// repeat asks the tuner a recorded call again.
func (s *decider) repeat(ctx context.Context, call int) error {
	c := &s.past[call]
	if c.kind == KindReport {
		return s.live.Report(ctx, c.report())
	}
	decisions, err := s.live.Suggest(ctx, c.N)
	if err != nil {
		return err
	}
	if again := suggestRecord(c.N, decisions); !again.same(c) {
		return fmt.Errorf("tuner %s is not deterministic: call %d differs from the record", s.name, call)
	}
	return nil
}

// answered records a call with its answer and the state after it.
func (s *decider) answered(c callRecord) error {
	s.calls++
	s.past = append(s.past, c)
	if err := s.history.append(c.kind, s.req.Trial, c.Round, c); err != nil {
		return err
	}
	return s.history.setState(s.req.Trial, s.calls%2, s.calls, s.live.State())
}

// Suggest returns the next decisions, which are durable before anyone acts on
// them.
func (s *decider) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	c, err := s.next(KindSuggest)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return c.decisions()
	}
	if err := s.wake(ctx); err != nil {
		return nil, s.named(err)
	}
	decisions, err := s.live.Suggest(ctx, n)
	if err != nil {
		return nil, s.named(err)
	}
	if err := s.answered(suggestRecord(n, decisions)); err != nil {
		return nil, err
	}
	return decisions, s.history.flush()
}

// Report tells the tuner a score.
func (s *decider) Report(ctx context.Context, r tuners.TrialReport) error {
	now := reportRecord(r)
	c, err := s.next(KindReport)
	if err != nil {
		return err
	}
	if c != nil {
		if !c.same(&now) {
			return fmt.Errorf("trial %d at round %d: the repeated report differs from the record", r.Trial, r.Round)
		}
		return nil
	}
	if err := s.wake(ctx); err != nil {
		return s.named(err)
	}
	if err := s.live.Report(ctx, r); err != nil {
		return s.named(err)
	}
	if err := s.answered(now); err != nil || s.req.Trial != tuners.PrepareSession {
		return err
	}
	return s.history.flush() // nothing else tells what the trial came to
}

// named puts the tuner's name before an error of its session; a wrong answer has
// it already.
func (s *decider) named(err error) error {
	if errors.Is(err, rules.ErrBadAnswer) {
		return err
	}
	return fmt.Errorf("tuner %s: %w", s.name, err)
}

// Close ends the tuner's session, if it was needed.
func (s *decider) Close(ctx context.Context) error {
	if s.live == nil {
		return nil
	}
	return s.live.Close(ctx)
}
