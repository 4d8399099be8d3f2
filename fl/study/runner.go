package study

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// named puts the trial tuner's name before what could not be done for it.
func (d *driver) named(err error) error {
	if err == nil {
		return nil
	}
	return rules.Named(d.setup.Config.Tuner.Name, err)
}

// follow does what the tuner suggests until it is done and returns the trial
// that it names as its choice, or nil.
func (d *driver) follow(ctx context.Context, session *replay.Tuner) (*entrant, error) {
	parallel := d.setup.Config.Tuner.Parallel
	control := d.setup.Control
	control.open(d)
	best, err := play.Study{
		Session: &stoppable{Tuner: session, control: control}, Book: session.Book(), Parallel: parallel, Lanes: d.lanes(),
		Runner: &runner{driver: d, lanes: &lanes{to: d.setup.Observer, byReport: parallel > 1}},
	}.Play(ctx)
	if closeErr := control.close(d.trials); err == nil {
		err = closeErr
	}
	if err != nil || best < 0 || d.trial(best).Phase() == trial.Ended {
		return nil, err
	}
	return d.trial(best), nil
}

// runner runs the trials of a study.
type runner struct {
	driver *driver
	lanes  *lanes
}

// Act opens, stops or releases a trial, and makes one that is sent on ready to run.
func (r *runner) Act(ctx context.Context, dec tuners.Decision) error {
	d := r.driver
	if err := d.whole(dec); err != nil {
		return d.named(err)
	}
	switch dec.Kind {
	case tuners.Start, tuners.Fork:
		spec := trial.Spec{Number: dec.Trial, Params: dec.Params}
		if dec.Kind == tuners.Fork {
			spec.Source = d.trial(dec.Source).Trial
		}
		if _, err := d.open(ctx, spec); err != nil {
			return d.named(err)
		}
	case tuners.Stop:
		return d.named(d.stop(d.trial(dec.Trial)))
	case tuners.Release:
		return d.named(d.trial(dec.Trial).Release())
	case tuners.Resume, tuners.Score:
	case tuners.Wait, tuners.Done, tuners.Local:
		return nil
	}
	t := d.trial(dec.Trial)
	t.floor, t.lane = d.floor(t.Trial), r.lanes.open()
	return nil
}

// whole returns an error for a decision by which scores would decide how often clients take
// part, where the account has to know that before.
func (d *driver) whole(dec tuners.Decision) error {
	b := d.setup.Config.Budget
	if !d.setup.account.Whole() || dec.Kind == tuners.Start && dec.ToRound == b.TrialRounds && dec.Trial < b.Rounds/b.TrialRounds {
		return nil
	}
	if dec.Kind == tuners.Start || dec.Kind == tuners.Resume || dec.Kind == tuners.Fork {
		return &key.Error{Key: "dp.mechanism", Problem: fmt.Sprintf(" = %q: the account is for trials that all run "+
			"budget.trial_rounds rounds, as those of random, grid, bo and tpe; use one of these, or \"central\"",
			d.setup.Config.DP.Mechanism)}
	}
	if dec.Kind == tuners.Local {
		return &key.Error{Key: "dp.mechanism", Problem: fmt.Sprintf(" = %q: what clients tell that train by themselves is accounted for with \"central\" only", d.setup.Config.DP.Mechanism)}
	}
	return nil
}

// Run trains a trial on and keeps its model if that is one of the best.
func (r *runner) Run(ctx context.Context, s play.Segment, begins func(rounds int)) (tuners.TrialReport, error) {
	d := r.driver
	if s.LocalSearch != nil {
		report, err := d.searchLocally(ctx, s)
		return report, d.named(err)
	}
	t := d.trial(s.Trial)
	if len(s.Points) > 0 {
		report, err := t.measure(ctx, s.Points)
		t.lane.end()
		return report, d.named(err)
	}
	err := t.segment(ctx, s.To, begins, t.lane.event)
	t.lane.end()
	// Now and not at its report, so that few models wait. A segment that
	// was interrupted is not over: what it stored stays.
	t.lowest = t.BestScore()
	if failed := d.take(ctx, t.TakeBest(), err == nil); failed != nil && err == nil {
		err = failed
	}
	if err != nil {
		return tuners.TrialReport{}, err
	}
	return t.report(), nil
}

// Reporting takes in a report that is about to reach the tuner.
func (r *runner) Reporting(_ context.Context, report tuners.TrialReport) error {
	if report.Trial == tuners.NoTrial {
		return nil
	}
	d := r.driver
	t := d.trial(report.Trial)
	d.rank(&d.reported, trial.Model{Score: t.lowest, Trial: t.Trial})
	t.lane.report()
	return nil
}

// lanes is how many trials run at once.
func (d *driver) lanes() int {
	switch {
	case d.engine == nil: // nothing is trained
		return 1
	case d.setup.Trainer != nil:
		return math.MaxInt
	}
	return d.engine.Workers()
}
