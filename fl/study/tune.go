package study

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

var errNoStore = errors.New("a study with a Trainer needs a Store: without a record, lost trials cannot be taken over")

// Tune runs a study: it does what the tuner suggests until the tuner is done,
// chooses the model that it returns, and evaluates that one and those that it
// might have returned.
func Tune(ctx context.Context, s Setup) (*Result, error) {
	start := time.Now()
	d, survivor, err := follow(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer d.close()
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

// follow does what the tuner suggests until it is done, and returns its last survivor.
// The caller closes the driver.
func follow(ctx context.Context, s *Setup) (_ *driver, survivor *trial, err error) {
	if s.Tuner == nil {
		return nil, nil, &key.Error{Key: "tuner.name", Problem: " is not set; see `fedfast list tuners`"}
	}
	if s.Trainer != nil && s.Store == nil {
		return nil, nil, errNoStore
	}
	about, err := s.Tuner.Describe(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("tuner %s: %w", s.Config.Tuner.Name, err)
	}
	given := s.Config // as it was given, for the record
	if s.ClientTuner == nil && about.Trials && about.Rounds {
		s.ClientTuner = s.Tuner
		s.Config.ClientTuner = config.ClientTuner{Name: s.Config.Tuner.Name, Options: s.Config.Tuner.Options}
	}
	d, err := newDriver(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	d.forks, d.lone = about.Fork, about.Trials && about.Rounds
	session, err := d.openStudySession(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := d.history.begin(&given, config.ModeTune, s.Data, s.Model, s.Environment); err != nil {
		return nil, nil, err
	}
	if err := d.prepare(ctx); err != nil {
		return nil, nil, err
	}
	survivor, err = d.follow(ctx, session)
	if closeErr := session.Close(context.WithoutCancel(ctx)); err == nil && closeErr != nil {
		err = fmt.Errorf("tuner %s: %w", s.Config.Tuner.Name, closeErr)
	}
	if err != nil {
		return nil, nil, err
	}
	return d, survivor, nil
}

// openStudySession lets the tuners check the set-up and returns the trial
// tuner's session.
func (d *driver) openStudySession(ctx context.Context) (*decider, error) {
	c := &d.setup.Config
	if c.Budget.Rounds < 1 || c.Budget.TrialRounds < 1 {
		return nil, &key.Error{Key: "budget.rounds", Problem: fmt.Sprintf(" = %d, budget.trial_rounds = %d: both must be 1 or more", c.Budget.Rounds, c.Budget.TrialRounds)}
	}
	if len(d.space) == 0 && len(d.clientControls) == 0 {
		return nil, &key.Error{Key: "space", Problem: ": it is empty; a study needs at least one dimension, such as \"client.lr\" = {log10 = [-4, 0]}"}
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
		return nil, &key.Error{Key: "tuner.name", Problem: fmt.Sprintf(" = %q: it runs no trials; use it as client_tuner.name under a tuner such as sha or random", desc.Name)}
	}
	if d.lone && !d.forks && c.Budget.Rounds > c.Budget.TrialRounds {
		return nil, &key.Error{Key: "budget.rounds", Problem: fmt.Sprintf(" = %d, budget.trial_rounds = %d: %s as tuner.name runs one trial, so both must be the same; or use it as client_tuner.name under a tuner of many trials, such as sha", c.Budget.Rounds, c.Budget.TrialRounds, desc.Name)}
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
	return d.decider(c.Tuner.Name, d.setup.Tuner, desc, tuners.OpenRequest{
		Study: c.Name, Space: d.space, Options: options, Budget: d.budget,
		Objective: d.objective, Seed: c.Seed, Trial: tuners.StudySession,
	}), nil
}
