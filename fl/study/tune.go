package study

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

var errNoStore = errors.New("a study with a Trainer needs a Store: without a record, lost trials cannot be taken over")

// Tune runs a study: it does what the tuner suggests until the tuner is done,
// chooses the model that it returns, and evaluates that one and those that it
// might have returned.
func Tune(ctx context.Context, s Setup) (*result.Result, error) {
	start := time.Now()
	ctx, s.wall = newWall(ctx, s.Config.Budget.WallSeconds)
	defer s.wall.end()
	d, survivor, err := follow(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if d.past.Result != nil {
		return d.stored(ctx)
	}
	start = start.Add(-d.past.Elapsed)
	trained := time.Since(start).Seconds()
	r, err := d.result(ctx, survivor)
	if err != nil {
		return nil, s.wall.stopped(ctx, d.past, err)
	}
	r.RoundsPerSecond = float64(r.Rounds) / trained
	r.Seconds, r.Audit = time.Since(start).Seconds(), s.audited()
	if err := d.finish(result.End{Tune: r}); err != nil {
		return nil, err
	}
	return r, d.removeOthers(ctx, r)
}

// Check returns the error with which Tune would refuse a set-up before it trains anything.
func Check(ctx context.Context, s Setup) error {
	d, _, err := ready(ctx, &s)
	if err == nil {
		d.close()
	}
	return err
}

// ready checks a set-up with its tuners, and makes the driver and the session of its trials. The
// caller closes the driver.
func ready(ctx context.Context, s *Setup) (_ *driver, _ *replay.Tuner, err error) {
	if s.Tuner == nil {
		return nil, nil, &key.Error{Key: "tuner.name", Problem: " is not set; see `fedfast list tuners`"}
	}
	if s.Trainer != nil && s.Store == nil {
		return nil, nil, errNoStore
	}
	about, err := s.Tuner.Describe(ctx)
	if err != nil {
		return nil, nil, rules.Named(s.Config.Tuner.Name, err)
	}
	if s.ClientTuner == nil && about.Trials && about.Rounds {
		if s.Config.Private() {
			return nil, nil, &key.Error{Key: "tuner.name", Problem: fmt.Sprintf(" = %q: in a private study set it as "+
				"client_tuner.name, under a tuner such as random, so that the account knows it", about.Name)}
		}
		s.ClientTuner = s.Tuner
		s.Config.ClientTuner = config.ClientTuner{Name: s.Config.Tuner.Name, Options: s.Config.Tuner.Options}
	}
	if s.Config.ToGoal() { // no evaluation of a model tells when it reached the goal
		s.Config.Select = config.SelectPaper
	}
	d, err := newDriver(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	d.study.Forks, d.lone = about.Fork, about.Trials && about.Rounds
	session, err := d.openStudySession(ctx)
	if err != nil {
		d.close()
	}
	return d, session, err
}

// follow does what the tuner suggests until it is done, and returns its last survivor.
// The caller closes the driver.
func follow(ctx context.Context, s *Setup) (_ *driver, survivor *entrant, err error) {
	given := s.Config // as it was given, for the record
	d, session, err := ready(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if err := d.past.Begin(&given, config.ModeTune, s.Data, s.Model, s.Environment); err != nil {
		return nil, nil, err
	}
	if d.begun != nil && d.past.Priors == nil {
		if err := d.past.Append(store.KindPriors, tuners.StudySession, 0, d.begun); err != nil {
			return nil, nil, err
		}
	}
	if d.past.Result == nil {
		s.wall.start()
	}
	if err = d.prepare(ctx); err == nil {
		survivor, err = d.follow(ctx, session)
	}
	session.Close()
	if err == nil {
		err = d.trainReference(ctx)
	}
	if err != nil && s.wall != nil {
		err = s.wall.stopped(ctx, d.past, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return d, survivor, nil
}
