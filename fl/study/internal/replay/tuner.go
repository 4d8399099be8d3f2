package replay

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is the session of a tuner that decides about trials.
type Tuner struct {
	*Replayer
	name  string // for errors
	tuner tuners.Tuner
	about tuners.Description
	req   tuners.OpenRequest // its Trial is the number of the session
	calls []record.Call      // that have been answered, the recorded ones first
}

// NewTuner returns the session that a request opens.
func (p *Past) NewTuner(name string, t tuners.Tuner, about tuners.Description, req tuners.OpenRequest) *Tuner {
	s := &Tuner{name: name, tuner: t, about: about, req: req, calls: p.calls[req.Trial]}
	s.Replayer = p.NewReplayer(req.Trial, s)
	return s
}

// Book returns an empty book for the session's decisions.
func (s *Tuner) Book() *rules.Book { return rules.NewBook(s.about, s.req) }

// Replayed reports whether all recorded calls have been answered.
func (s *Tuner) Replayed() bool { return s.Replayer.calls == len(s.calls) }

// Reports returns the recorded reports by trial, of a session in which a trial
// reports once.
func (s *Tuner) Reports() map[int]tuners.TrialReport {
	out := map[int]tuners.TrialReport{}
	for i := range s.calls {
		if c := &s.calls[i]; c.Kind == store.KindReport {
			out[*c.Trial] = c.Report()
		}
	}
	return out
}

// next returns the recorded answer to a call, nil when there is none.
func (s *Tuner) next(kind string) (*record.Call, error) {
	if s.Replayed() {
		return nil, nil
	}
	n := s.Replayer.calls
	c := &s.calls[n]
	if c.Kind != kind {
		return nil, fmt.Errorf("call %d of tuner %s is a %s in the record and a %s now: the record was written by a version of fedfast with another order of calls; finish the study with that version, or start it again in another directory", n, s.name, c.Kind, kind)
	}
	s.Skip(1)
	return c, nil
}

// Reopen also makes known to the checks of the session what was decided and reported
// before the state, of which they see no call: else they would take a trial that does
// not exist for one that does, and the wrong decision would be recorded.
func (s *Tuner) Reopen(ctx context.Context, state []byte, calls int) (*rules.Session, error) {
	req := s.req
	req.State = state
	live, err := rules.Open(ctx, s.tuner, req)
	if err != nil {
		return nil, err
	}
	for i := range s.calls[:calls] {
		c := &s.calls[i]
		if c.Kind == store.KindReport {
			live.RecallReport(c.Report())
			continue
		}
		decisions, err := c.Suggested()
		if err != nil {
			return nil, err
		}
		live.RecallSuggest(decisions)
	}
	return live, nil
}

// Repeat makes a recorded call again.
func (s *Tuner) Repeat(ctx context.Context, live *rules.Session, call int) error {
	c := &s.calls[call]
	if c.Kind == store.KindReport {
		return live.Report(ctx, c.Report())
	}
	decisions, err := live.Suggest(ctx, c.N)
	if err != nil {
		return err
	}
	if again := record.SuggestOf(c.N, decisions); !again.Same(c) {
		return fmt.Errorf("tuner %s is not deterministic: call %d differs from the record", s.name, call)
	}
	return nil
}

// answered records a call with its answer and the state after it.
func (s *Tuner) answered(c record.Call) error {
	s.calls = append(s.calls, c)
	if err := s.past.Append(c.Kind, s.req.Trial, c.Round, c); err != nil {
		return err
	}
	return s.Answered()
}

// Suggest returns the next decisions, which are durable before anyone acts on
// them.
func (s *Tuner) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	c, err := s.next(store.KindSuggest)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return c.Suggested()
	}
	live, err := s.Live(ctx)
	if err != nil {
		return nil, s.named(err)
	}
	decisions, err := live.Suggest(ctx, n)
	if err != nil {
		return nil, s.named(err)
	}
	if err := s.answered(record.SuggestOf(n, decisions)); err != nil {
		return nil, err
	}
	return decisions, s.past.Flush()
}

// Report passes the report of a trial to the tuner.
func (s *Tuner) Report(ctx context.Context, r tuners.TrialReport) error {
	now := record.ReportOf(r)
	c, err := s.next(store.KindReport)
	if err != nil {
		return err
	}
	if c != nil {
		if !c.Same(&now) {
			return fmt.Errorf("trial %d at round %d: the repeated report differs from the record", r.Trial, r.Round)
		}
		return nil
	}
	live, err := s.Live(ctx)
	if err == nil {
		err = live.Report(ctx, r)
	}
	if err != nil {
		return s.named(err)
	}
	if err := s.answered(now); err != nil || s.req.Trial != tuners.PrepareSession {
		return err
	}
	return s.past.Flush() // nothing else tells what the trial came to
}

// named puts the tuner's name before an error of its session.
func (s *Tuner) named(err error) error { return rules.Named(s.name, err) }
