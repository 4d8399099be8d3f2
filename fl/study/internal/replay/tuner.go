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
func (s *Tuner) Replayed() bool { return s.All(s.Replayer.calls) }

// All reports whether that many calls are all that were answered.
func (s *Tuner) All(calls int) bool { return calls == len(s.calls) }

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
		return nil, fmt.Errorf("call %d of tuner %s is a %s in the record and a %s now: the record was written by a "+
			"version of fedfast with another order of calls; finish the study with that version, or start it again in another "+
			"directory", n, s.name, c.Kind, kind)
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
	again, err := s.again(ctx, live, call)
	if err == nil && !again.Same(&s.calls[call]) {
		err = fmt.Errorf("tuner %s is not deterministic: call %d differs from the record", s.name, call)
	}
	return err
}

// again makes a recorded call again and returns it with its answer.
func (s *Tuner) again(ctx context.Context, live *rules.Session, call int) (*record.Call, error) {
	c := &s.calls[call]
	if c.Kind == store.KindReport {
		return c, live.Report(ctx, c.Report())
	}
	decisions, err := live.Suggest(ctx, c.N)
	again := record.SuggestOf(c.N, decisions)
	return &again, err
}

// Agreed returns the recorded calls up to the first one that the tuner, opened at its beginning,
// answers otherwise, and the trials of the reports behind. With longer it may have more decisions
// than the recorded ones.
func (s *Tuner) Agreed(ctx context.Context, longer bool) (agreed []record.Call, undone []int, err error) {
	live, err := s.Reopen(ctx, nil, 0)
	if err != nil {
		return nil, nil, s.named(err)
	}
	defer s.past.end(live)
	for i := range s.calls {
		c, err := s.again(ctx, live, i)
		if err != nil {
			return nil, nil, s.named(err)
		}
		first := *c
		if n := len(s.calls[i].Decisions); longer && len(c.Decisions) > n {
			first.Decisions = c.Decisions[:n]
		}
		if !first.Same(&s.calls[i]) {
			break
		}
		agreed = append(agreed, *c)
	}
	for _, c := range s.calls[len(agreed):] {
		if c.Kind == store.KindReport {
			undone = append(undone, *c.Trial)
		}
	}
	return agreed, undone, nil
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
	if c != nil && c.N != n {
		return nil, s.named(fmt.Errorf("a call is for %d trials in the record, and for %d now", c.N, n))
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
