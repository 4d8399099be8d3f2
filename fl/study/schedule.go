package study

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/tuners"
)

// named puts the trial tuner's name before what could not be done for it.
func (d *driver) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tuner %s: %w", d.setup.Config.Tuner.Name, err)
}

// follow does what the tuner suggests until it is done and returns the trial
// that it names as its choice, or nil.
func (d *driver) follow(ctx context.Context, session *decider) (*trial, error) {
	parallel := d.setup.Config.Tuner.Parallel
	control := d.setup.Control
	control.open(d)
	best, err := play.Study{
		Session: &stoppable{decider: session, control: control}, Book: session.book(), Parallel: parallel, Lanes: d.lanes(),
		Runner: &runner{driver: d, lanes: &lanes{to: d.setup.Observer, told: parallel > 1}},
	}.Play(ctx)
	control.close(d.trials)
	if err != nil || best < 0 || d.trial(best).act != nil {
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
	switch dec.Kind {
	case tuners.Start, tuners.Fork:
		var source *trial
		if dec.Kind == tuners.Fork {
			source = d.trial(dec.Source)
		}
		t, err := d.open(ctx, dec.Trial, dec.Params, source)
		if err != nil {
			return d.named(err)
		}
		d.add(t)
	case tuners.Stop:
		return d.named(d.trial(dec.Trial).stop(ctx))
	case tuners.Release:
		return d.named(d.trial(dec.Trial).release())
	case tuners.Resume, tuners.Score:
	case tuners.Wait, tuners.Done:
		return nil
	}
	t := d.trial(dec.Trial)
	t.floor, t.lane = d.floor(t), r.lanes.open()
	return nil
}

// Run trains a trial on and keeps its model if that is one of the best.
func (r *runner) Run(ctx context.Context, s play.Segment, begins func(rounds int)) (tuners.TrialReport, error) {
	d := r.driver
	t := d.trial(s.Trial)
	if len(s.Points) > 0 {
		report, err := t.measure(ctx, s.Points)
		t.lane.end()
		return report, d.named(err)
	}
	err := t.segment(ctx, s.To, begins, t.lane.event)
	t.lane.end()
	// Now and not when the tuner is told, so that few models wait. A segment that
	// was interrupted is not over: what it stored stays.
	if failed := d.take(ctx, t.best, err == nil); failed != nil && err == nil {
		err = failed
	}
	t.lowest, t.best = t.best.score, candidate{}
	if err != nil {
		return tuners.TrialReport{}, err
	}
	return t.report(), nil
}

// Reporting takes into account what the tuner is about to be told.
func (r *runner) Reporting(_ context.Context, report tuners.TrialReport) error {
	d := r.driver
	t := d.trial(report.Trial)
	d.rank(&d.told, candidate{score: t.lowest, trial: t})
	t.lane.tell()
	return nil
}

// add takes in a trial, whose number is the next.
func (d *driver) add(t *trial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trials = append(d.trials, t)
}

// trial returns a trial that there is; others may be added beside.
func (d *driver) trial(number int) *trial {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trials[number]
}

// report is what the tuner is told at the end of a segment.
func (t *trial) report() tuners.TrialReport {
	if t.fail != nil {
		return tuners.TrialReport{Trial: t.number, Round: t.rounds, Score: math.NaN(), Failed: true, Reason: t.fail.Reason}
	}
	rung := t.rungs[len(t.rungs)-1]
	return tuners.TrialReport{Trial: t.number, Round: rung.Round, Score: rung.Score}
}
