package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// Tune runs a study: it does what the tuner suggests until the tuner is done,
// chooses the model that it returns, and evaluates that one and those that it
// might have returned.
func Tune(ctx context.Context, s Setup) (*Result, error) {
	if s.Tuner == nil {
		return nil, errors.New("tuner.name: none is set; `fedfast list tuners` shows them")
	}
	about, err := s.Tuner.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("tuner %s: %w", s.Config.Tuner.Name, err)
	}
	given := s.Config // as it was given, for the record
	if s.ClientTuner == nil && about.Trials && about.Rounds {
		s.ClientTuner = s.Tuner
		s.Config.ClientTuner = config.ClientTuner{Name: s.Config.Tuner.Name, Options: s.Config.Tuner.Options}
	}
	d, err := newDriver(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer d.close()
	d.forks, d.lone = about.Fork, about.Trials && about.Rounds
	start := time.Now()
	session, err := d.openStudySession(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.history.begin(&given, config.ModeTune, s.Data, s.Model, s.Environment); err != nil {
		return nil, err
	}
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	survivor, err := d.follow(ctx, session)
	if closeErr := session.Close(context.WithoutCancel(ctx)); err == nil && closeErr != nil {
		err = fmt.Errorf("tuner %s: %w", s.Config.Tuner.Name, closeErr)
	}
	if err != nil {
		return nil, err
	}
	if d.history.result != nil {
		return d.stored(ctx)
	}
	start = start.Add(-d.history.elapsed)
	trained := time.Since(start).Seconds()
	r, err := d.result(ctx, survivor)
	if err != nil {
		return nil, err
	}
	r.RoundsPerSecond = float64(r.Rounds) / trained
	r.Seconds = time.Since(start).Seconds()
	if err := d.finish(resultRecord{Tune: r}); err != nil {
		return nil, err
	}
	return r, d.tidy(ctx, r)
}

// openStudySession lets the tuners check the set-up and returns the trial
// tuner's session.
func (d *driver) openStudySession(ctx context.Context) (*decider, error) {
	c := &d.setup.Config
	if c.Budget.Rounds < 1 || c.Budget.TrialRounds < 1 {
		return nil, fmt.Errorf("budget.rounds = %d, budget.trial_rounds = %d: both must be 1 or more", c.Budget.Rounds, c.Budget.TrialRounds)
	}
	if len(d.space) == 0 && len(d.clientControls) == 0 {
		return nil, errors.New("space: it is empty; a study needs at least one dimension, such as \"client.lr\" = {log10 = [-4, 0]}")
	}
	if d.history.study == nil { // one that runs is not ended by what it may never draw
		if err := config.CheckDims(d.space, d.base, d.method); err != nil {
			return nil, err
		}
	}
	desc, err := d.setup.Tuner.Describe(ctx)
	if err != nil {
		return nil, fmt.Errorf("tuner %s: %w", c.Tuner.Name, err)
	}
	if !desc.Trials {
		return nil, fmt.Errorf("tuner.name = %q: it runs no trials; use it as client_tuner.name under a tuner such as sha or random", desc.Name)
	}
	options, err := parseOptions("tuner", c.Tuner.Options)
	if err != nil {
		return nil, err
	}
	if err := d.validate(ctx, "tuner", d.setup.Tuner, options); err != nil {
		return nil, err
	}
	if err := d.validate(ctx, "client_tuner", d.setup.ClientTuner, d.clientOptions); err != nil {
		return nil, err
	}
	return &decider{
		history: d.history, number: tuners.StudySession, name: c.Tuner.Name, past: d.history.calls[tuners.StudySession],
		open: func(ctx context.Context, state []byte) (tuners.Session, error) {
			return d.setup.Tuner.Open(ctx, tuners.OpenRequest{
				Study: c.Name, Space: d.space, Options: options, Budget: d.budget,
				Objective: d.objective, Seed: c.Seed, Trial: tuners.StudySession, State: state,
			})
		},
	}, nil
}

// follow does what the tuner suggests until it is done and returns the trial
// that it names as its choice, or nil.
func (d *driver) follow(ctx context.Context, session *decider) (*trial, error) {
	name := d.setup.Config.Tuner.Name
	parallel := max(1, d.setup.Config.Tuner.Parallel)
	for {
		decisions, err := session.Suggest(ctx, parallel)
		if err != nil {
			return nil, fmt.Errorf("tuner %s: %w", name, err)
		}
		if err := d.ledger.Answer(len(decisions)); err != nil {
			return nil, fmt.Errorf("tuner %s: %w", name, err)
		}
		var legs []leg
		for _, dec := range decisions {
			if dec.Kind == tuners.Done {
				if len(legs) > 0 {
					return nil, fmt.Errorf("tuner %s: it is done while trials wait to run", name)
				}
				return d.chosen(dec.Best)
			}
			l, err := d.act(ctx, dec)
			if err != nil {
				return nil, fmt.Errorf("tuner %s: %w", name, err)
			}
			if l != nil {
				legs = append(legs, *l)
			}
		}
		if len(legs) == 0 && !slices.ContainsFunc(decisions, func(dec tuners.Decision) bool { return dec.Kind == tuners.Stop || dec.Kind == tuners.Release }) {
			return nil, fmt.Errorf("tuner %s: it waits, but no trial is running", name)
		}
		if err := d.run(ctx, legs); err != nil {
			return nil, err
		}
		slices.SortStableFunc(legs, func(a, b leg) int { return a.trial.number - b.trial.number })
		for _, l := range legs {
			d.ledger.Return(l.toRound - l.trial.rounds)
			if err := session.Report(ctx, l.trial.report()); err != nil {
				return nil, fmt.Errorf("tuner %s: %w", name, err)
			}
		}
	}
}

// chosen returns the trial that a tuner names as its choice; -1 is none.
func (d *driver) chosen(number int) (*trial, error) {
	if number < 0 {
		return nil, nil
	}
	t, err := d.trial(number)
	if err == nil && t.stopped {
		err = fmt.Errorf("tuner %s: it chose trial %d, which it had stopped or which failed", d.setup.Config.Tuner.Name, number)
	}
	return t, err
}

func (d *driver) trial(number int) (*trial, error) {
	if number < 0 || number >= len(d.trials) {
		return nil, fmt.Errorf("decision about trial %d: there are %d trials", number, len(d.trials))
	}
	return d.trials[number], nil
}

// act carries out a decision; a trial that has to run becomes a leg.
func (d *driver) act(ctx context.Context, dec tuners.Decision) (*leg, error) {
	switch dec.Kind {
	case tuners.Start:
		if dec.Trial != len(d.trials) {
			return nil, fmt.Errorf("decision to start trial %d: the next trial is %d", dec.Trial, len(d.trials))
		}
		t, err := d.open(ctx, dec.Trial, dec.Params, nil)
		if err != nil {
			return nil, err
		}
		d.trials = append(d.trials, t)
		return d.legTo(t, dec.ToRound)
	case tuners.Fork:
		t, err := d.copy(ctx, dec)
		if err != nil {
			return nil, err
		}
		d.trials = append(d.trials, t)
		return d.legTo(t, dec.ToRound)
	case tuners.Resume:
		t, err := d.trial(dec.Trial)
		if err != nil {
			return nil, err
		}
		return d.legTo(t, dec.ToRound)
	case tuners.Stop:
		t, err := d.trial(dec.Trial)
		if err != nil {
			return nil, err
		}
		if t.running() {
			return nil, fmt.Errorf("decision to stop trial %d, which it has just sent to round %d", t.number, t.toRound)
		}
		return nil, t.stop(ctx)
	case tuners.Release:
		t, err := d.trial(dec.Trial)
		if err != nil {
			return nil, err
		}
		return nil, t.release()
	case tuners.Wait:
		return nil, nil
	default:
		return nil, fmt.Errorf("decision %q is not one that this version of fedfast carries out", dec.Kind)
	}
}

func (d *driver) legTo(t *trial, round int) (*leg, error) {
	switch {
	case t.stopped:
		return nil, fmt.Errorf("decision to run trial %d, which it had stopped or which failed", t.number)
	case t.running():
		return nil, fmt.Errorf("decision to run trial %d to round %d, which it has just sent to round %d", t.number, round, t.toRound)
	}
	if err := d.ledger.Send(t.number, t.rounds, round); err != nil {
		return nil, err
	}
	t.toRound = round
	return &leg{trial: t, toRound: round}, nil
}

// running says whether the trial has been sent to a round that it has not reached.
func (t *trial) running() bool { return t.rounds < t.toRound && t.fail == nil }

// report is what the tuner is told at the end of a leg.
func (t *trial) report() tuners.TrialReport {
	if t.fail != nil {
		return tuners.TrialReport{Trial: t.number, Round: t.rounds, Score: math.NaN(), Failed: true, Reason: t.fail.Reason}
	}
	rung := t.rungs[len(t.rungs)-1]
	return tuners.TrialReport{Trial: t.number, Round: rung.Round, Score: rung.Score}
}

// copy opens a trial as the copy of another one at its round.
func (d *driver) copy(ctx context.Context, dec tuners.Decision) (*trial, error) {
	if dec.Trial != len(d.trials) {
		return nil, fmt.Errorf("decision to fork a new trial %d: the next trial is %d", dec.Trial, len(d.trials))
	}
	source, err := d.trial(dec.Source)
	switch {
	case err != nil:
		return nil, err
	case source.fail != nil || source.stopped && (source.released || !d.forks):
		return nil, fmt.Errorf("decision to fork trial %d, which failed or was released", source.number)
	case source.running():
		return nil, fmt.Errorf("decision to fork trial %d, which it has just sent to round %d", source.number, source.toRound)
	}
	return d.open(ctx, dec.Trial, dec.Params, source)
}
