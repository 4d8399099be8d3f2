// Package play is the scheduler: it asks a trial tuner what to do, has that done,
// and reports what came of it, in the order that the protocol promises. Studies,
// checks of tuners and tests of tuners differ in how a trial runs, which is a
// Runner, and in nothing else.
//
// The order of reports follows simulated time, in which every round of every
// trial takes the same and all trials in flight run in parallel. So what a
// tuner is told, and what it decides, depends on nothing but the scores: not on the
// clock, on how many trials really run at once, or on when a study was interrupted.
package play

import (
	"context"

	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// Session is the side of a tuners.Session that decides about trials.
type Session interface {
	Suggest(ctx context.Context, n int) ([]tuners.Decision, error)
	Report(ctx context.Context, r tuners.TrialReport) error
}

// Segment is a part of a trial's rounds: from where it was sent on to where it
// reports.
type Segment struct {
	Trial    int
	From, To int // rounds that the trial has run then
	// Points, unless there are none, are sub-networks that are measured; no round is
	// run. With LocalSearch they are points with which clients train by themselves, and
	// Trial is tuners.NoTrial.
	Points      []tuners.Params
	LocalSearch *tuners.LocalSearch
}

// Runner runs trials.
type Runner interface {
	// Act carries out a decision. It is called with every decision of an answer, in
	// their order, before a trial of them runs; the tuner may make these decisions.
	// A trial that is started, forked or resumed is then run.
	Act(ctx context.Context, d tuners.Decision) error
	// Run runs a trial on and returns its report. Before each round it calls begins
	// with the rounds that the trial has run. Segments of different trials run at
	// the same time if Study.Lanes allows it. The error ends the study; a trial
	// that fails says so in its report.
	Run(ctx context.Context, s Segment, begins func(rounds int)) (tuners.TrialReport, error)
	// Reporting is called before the tuner receives a report, in the order in
	// which it is.
	Reporting(ctx context.Context, r tuners.TrialReport) error
}

// Study is what there is to play.
type Study struct {
	Session Session
	Runner  Runner
	// Book checks the tuner's decisions before they are acted on. It must be new.
	Book *rules.Book
	// Parallel is tuner.parallel. With 1, or 0, the tuner is asked once all trials
	// that it has sent have ended, and receives their reports by their numbers. With more
	// it receives a trial's report as soon as that ends in simulated time, of several at
	// the same time by their numbers, and asked after each report.
	Parallel int
	// Lanes is how many trials really run at once; with 1, or 0, each runs in the
	// goroutine of Play.
	Lanes int
	// Next, unless it is nil, picks of the trials in flight, in the order in which
	// they were sent, the one of which the tuner is told next: for tests of tuners,
	// which must do with any order.
	Next func(running []int) int
}

// Play plays the study to its end and returns the trial that the tuner chooses, -1
// for none. When it returns, no trial runs.
func (s Study) Play(ctx context.Context) (best int, err error) {
	s.Parallel = max(1, s.Parallel)
	f := newFlight(ctx, &s)
	defer f.work.Wait() // until nothing runs
	defer f.cancel()
	for {
		decisions, err := s.Session.Suggest(ctx, s.Parallel)
		if err != nil {
			return -1, err
		}
		if err := s.Book.Decide(decisions); err != nil {
			return -1, err
		}
		for _, d := range decisions {
			if err := s.Runner.Act(ctx, d); err != nil {
				return -1, err
			}
		}
		for _, d := range decisions {
			switch d.Kind {
			case tuners.Start, tuners.Fork, tuners.Resume, tuners.Score, tuners.Local:
				from, to := s.Book.Sent(d.Trial)
				f.send(Segment{Trial: d.Trial, From: from, To: to, Points: d.Points, LocalSearch: d.LocalSearch})
			case tuners.Done:
				return d.Best, nil
			case tuners.Stop, tuners.Release, tuners.Wait:
			}
		}
		for f.len() > 0 {
			r, err := f.first()
			if err != nil {
				return -1, err
			}
			s.Book.Report(r)
			if err := s.Runner.Reporting(ctx, r); err != nil {
				return -1, err
			}
			if err := s.Session.Report(ctx, r); err != nil {
				return -1, err
			}
			if s.Parallel > 1 {
				break
			}
		}
	}
}
