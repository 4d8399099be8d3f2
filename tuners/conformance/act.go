package conformance

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// act does what the decisions ask for and reports the trials that end: all of them, or with several in flight the first one.
func (s *Study) act(ctx context.Context, in *session, decisions []tuners.Decision) (done bool, err error) {
	out := in.out
	for _, d := range decisions {
		out.Said = append(out.Said, describe(d))
		switch d.Kind {
		case tuners.Start, tuners.Resume, tuners.Fork:
			if d.Kind == tuners.Fork && d.Source >= len(out.Trials) || d.Kind == tuners.Resume && d.Trial >= len(out.Trials) {
				return false, out.unknown(d)
			}
			if err := s.send(ctx, in, d); err != nil {
				return false, err
			}
		case tuners.Stop:
			if d.Trial >= len(out.Trials) {
				return false, out.unknown(d)
			}
			if t := out.Trials[d.Trial]; t.running {
				return false, fmt.Errorf("%w: it stops trial %d while it runs", errBadEnd, d.Trial)
			}
			out.Trials[d.Trial].stopped = true
		case tuners.Done:
			return true, s.end(in, d)
		case tuners.Wait, tuners.Release:
		}
	}
	for _, t := range out.Trials {
		if !t.running {
			continue
		}
		t.running = false
		report := tuners.TrialReport{Trial: t.Number, Round: t.Rounds, Score: t.Score}
		if t.Failed = s.Fails != nil && s.Fails(t.Number); t.Failed {
			t.Score = math.NaN()
			report.Score, report.Failed, report.Reason = t.Score, true, "it was made to fail"
		}
		if err := in.call(ctx, func() error { return in.Report(ctx, report) }); err != nil {
			return false, fmt.Errorf("told of trial %d (failed: %t): %w", t.Number, t.Failed, err)
		}
		if !t.reported {
			t.reported = true
			out.reported++
		}
		if s.Parallel > 1 {
			return false, nil
		}
	}
	return false, nil
}

// send runs a trial to the round of a decision.
func (s *Study) send(ctx context.Context, in *session, d tuners.Decision) error {
	out := in.out
	if d.Kind == tuners.Start || d.Kind == tuners.Fork {
		if d.Trial != len(out.Trials) {
			return out.unknown(d)
		}
		t := &Trial{Number: d.Trial, Params: d.Params, Source: -1}
		if d.Kind == tuners.Fork {
			t.Source = d.Source
			t.Rounds = out.Trials[d.Source].Rounds
		}
		out.Trials = append(out.Trials, t)
	}
	t := out.Trials[d.Trial]
	out.Rounds += d.ToRound - t.Rounds
	t.running = true
	if s.Clients == nil {
		t.Rounds, t.Score = d.ToRound, s.Surface.Score(t.Params, d.ToRound)
		return nil
	}
	if t.client == nil {
		req := in.req
		req.Trial, req.Params, req.State, req.Options = t.Number, base.Merge(t.Params), s.prepared, s.ClientOptions
		var err error
		if t.client, err = s.open(ctx, s.Clients, req, out); err != nil {
			return err
		}
	}
	for t.Rounds < d.ToRound {
		if err := s.round(ctx, t.client, t); err != nil {
			return err
		}
	}
	return nil
}

// unknown is the error about a decision that names a trial which there is not. The host's checks see it first but for a session that was
// opened from a state: they do not know the trials before it.
func (o *Outcome) unknown(d tuners.Decision) error {
	return fmt.Errorf("%w: %q, but there are %d trials", errUnknown, describe(d), len(o.Trials))
}

// end checks how the study ends.
func (s *Study) end(in *session, d tuners.Decision) error {
	for _, t := range in.out.Trials {
		if t.running {
			return fmt.Errorf("%w: it is done while trial %d runs", errBadEnd, t.Number)
		}
	}
	in.out.Best = d.Best
	if d.Best < 0 {
		return nil
	}
	if d.Best >= len(in.out.Trials) {
		return in.out.unknown(d)
	}
	switch t := in.out.Trials[d.Best]; {
	case t.stopped:
		return fmt.Errorf("%w: its choice, trial %d, is one that it stopped", errBadEnd, d.Best)
	case t.Failed:
		return fmt.Errorf("%w: its choice, trial %d, has failed", errBadEnd, d.Best)
	}
	return nil
}

// describe writes a decision.
func describe(d tuners.Decision) string {
	switch d.Kind {
	case tuners.Start:
		return fmt.Sprintf("start trial %d to round %d with %s (independent: %t)", d.Trial, d.ToRound, d.Params, d.Independent)
	case tuners.Fork:
		return fmt.Sprintf("fork trial %d as trial %d to round %d with %s", d.Source, d.Trial, d.ToRound, d.Params)
	case tuners.Resume:
		return fmt.Sprintf("resume trial %d to round %d", d.Trial, d.ToRound)
	case tuners.Done:
		return fmt.Sprintf("done, best is trial %d", d.Best)
	case tuners.Wait:
		return "wait"
	case tuners.Stop, tuners.Release:
	}
	return fmt.Sprintf("%s trial %d", d.Kind, d.Trial)
}

// describePlan writes a plan.
func describePlan(p tuners.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "server %s;", p.Server)
	for i, c := range p.Clients {
		fmt.Fprintf(&b, " %d: %s;", i, c)
	}
	for _, c := range p.Table {
		fmt.Fprintf(&b, " %v: %s;", c.Keys, c.Params)
	}
	return b.String()
}
