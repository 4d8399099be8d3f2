// Package playtest plays studies of trial tuners against scores that a test makes up. It is for tests.
package playtest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// Study is a study to play.
type Study struct {
	Tuner    tuners.Tuner
	Request  tuners.OpenRequest
	Parallel int                                                       // trials in flight, as tuner.parallel; 0 is 1
	Score    func(trial int, params tuners.Params, round int) float64  // NaN is a failure
	Next     func(running []int) int                                   // index of the trial, of those in flight in the order of their start, that reports next; nil is the first
	Forked   func(trial, source int)                                   // is told of every fork before the copy's score is asked for; nil when the tuner may not fork
	Rungs    bool                                                      // reports are handed over together and the tuner is asked after the last one, not after each
	Cut      int                                                       // the session is closed after so many calls and opened again from its state; 0 is never
	Check    func(session tuners.Session, decisions []tuners.Decision) // is shown every answer to Suggest; may be nil
}

// Result is what came of a study.
type Result struct {
	Params map[int]tuners.Params
	Rounds map[int]int // that each trial was sent to
	Spent  int         // rounds in all
	Stages [][]int     // the trials of each answer that started or resumed some
	Live   int         // the most trials that were started and not stopped at one time
	Best   int
	Log    []string // every decision
}

// Play plays the study through host.Local, so that every answer is checked as the host checks it. It fails the test when the tuner
// errs, spends more than its budget, exceeds the trials in flight, or is done while trials run.
func (s Study) Play(t testing.TB) Result {
	t.Helper()
	ctx := t.Context()
	r := Result{Params: map[int]tuners.Params{}, Rounds: map[int]int{}, Best: -1}
	parallel := max(1, s.Parallel)
	open := func(req tuners.OpenRequest) tuners.Session {
		session, err := host.Local(s.Tuner).Open(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	session := open(s.Request)
	calls := 0
	cut := func() {
		if calls++; s.Cut > 0 && calls%s.Cut == 0 {
			req := s.Request
			req.State = slices.Clone(session.State())
			session = open(req)
		}
	}
	var running []int
	live := map[int]bool{}
	for {
		decisions, err := session.Suggest(ctx, parallel)
		if err != nil {
			t.Fatal(err)
		}
		if s.Check != nil {
			s.Check(session, decisions)
		}
		cut()
		var stage []int
		together := true
		for _, d := range decisions {
			r.Log = append(r.Log, describe(d))
			switch d.Kind {
			case tuners.Start, tuners.Resume, tuners.Fork:
				if d.Kind != tuners.Resume {
					r.Params[d.Trial] = d.Params
					live[d.Trial] = true
				}
				if d.Kind == tuners.Fork {
					if s.Forked == nil {
						t.Fatal("an unexpected fork")
					}
					s.Forked(d.Trial, d.Source)
					r.Rounds[d.Trial] = r.Rounds[d.Source]
				}
				r.Spent += d.ToRound - r.Rounds[d.Trial]
				r.Rounds[d.Trial] = d.ToRound
				stage = append(stage, d.Trial)
				together = together && d.Independent
			case tuners.Stop:
				if slices.Contains(running, d.Trial) {
					t.Fatalf("trial %d is stopped while it runs", d.Trial)
				}
				delete(live, d.Trial)
			case tuners.Done:
				if len(running) > 0 {
					t.Fatalf("done while trials %v run", running)
				}
				if d.Best >= 0 && !live[d.Best] {
					t.Fatalf("done with trial %d, which was stopped", d.Best)
				}
				r.Best = d.Best
				return r
			case tuners.Wait, tuners.Release:
			}
		}
		r.Live = max(r.Live, len(live))
		if running = append(running, stage...); len(running) > parallel && !together {
			t.Fatalf("%d trials in flight, want at most %d", len(running), parallel)
		}
		if stage != nil {
			r.Stages = append(r.Stages, stage)
		}
		if r.Spent > s.Request.Budget.Rounds {
			t.Fatalf("%d rounds are spent, the budget is %d", r.Spent, s.Request.Budget.Rounds)
		}
		if len(running) == 0 {
			t.Fatalf("nothing runs and the study is not done: %v", decisions)
		}
		for more := true; more; more = s.Rungs && len(running) > 0 {
			at := 0
			if s.Next != nil {
				at = s.Next(running)
			}
			trial := running[at]
			running = slices.Delete(running, at, at+1)
			score := s.Score(trial, r.Params[trial], r.Rounds[trial])
			report := tuners.TrialReport{Trial: trial, Round: r.Rounds[trial], Score: score, Failed: math.IsNaN(score)}
			if err := session.Report(ctx, report); err != nil {
				t.Fatal(err)
			}
			cut()
		}
	}
}

// Reopened plays the study with cuts after every so many calls and fails the test when anything differs from the uncut study.
func (s Study) Reopened(t testing.TB, every ...int) {
	t.Helper()
	whole := s.Play(t)
	for _, s.Cut = range every {
		parts := s.Play(t)
		if !slices.Equal(parts.Log, whole.Log) {
			t.Errorf("opened again every %d calls, it decides otherwise: %v, want %v", s.Cut, parts.Log, whole.Log)
		}
	}
}

// Ordered returns the trials' params by number.
func (r Result) Ordered() []tuners.Params {
	var out []tuners.Params
	for _, trial := range slices.Sorted(maps.Keys(r.Params)) {
		out = append(out, r.Params[trial])
	}
	return out
}

// describe writes a decision in one line.
func describe(d tuners.Decision) string {
	switch d.Kind {
	case tuners.Start:
		return fmt.Sprintf("start %d to %d with %s", d.Trial, d.ToRound, d.Params)
	case tuners.Resume:
		return fmt.Sprintf("resume %d to %d", d.Trial, d.ToRound)
	case tuners.Done:
		return fmt.Sprintf("done %d", d.Best)
	case tuners.Wait:
		return "wait"
	case tuners.Fork:
		return fmt.Sprintf("fork %d to %d with %s, to round %d", d.Source, d.Trial, d.Params, d.ToRound)
	case tuners.Stop, tuners.Release:
	}
	return fmt.Sprintf("%s %d", d.Kind, d.Trial)
}
