package study

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Extend makes of the finished study in s.Store one that has not ended, of s.Config, which has
// more rounds: see config.Config.Grows. Tune or Run then ends as if it had had them from its
// beginning. What was decided and measured with fewer rounds must be the same with more: else
// nothing changes, and the error names what to do instead.
func Extend(ctx context.Context, s Setup) error {
	x, mode, name := extension{setup: s}, config.ModeTune, "budget.rounds"
	x.instead = "begin another study"
	agree := x.tune
	if s.Tuner == nil {
		agree, mode, name, x.instead = x.run, config.ModeRun, "rounds", "begin another training"
	}
	err := errors.New("the noise of dp was set for the rounds that it had")
	if !s.Config.Private() {
		err = agree(ctx)
	}
	if err != nil && ctx.Err() == nil {
		return &key.Error{Key: name, Problem: fmt.Sprintf(": %s cannot go on with more: %v; %s", s.Store.Dir(), err, x.instead)}
	}
	if x.about, err = record.StudyOf(&s.Config, mode); err != nil {
		return err
	}
	for _, number := range x.undone {
		if err := trial.Forget(s.Store, number); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), s.Store.Rewrite(ctx, x.edit))
}

// extension is what is left of the record of a study that goes on.
type extension struct {
	setup   Setup
	about   record.Study
	instead string        // what to do where there is none
	calls   []record.Call // of the tuner that stay
	undone  []int         // trials of the reports behind them
	over    bool          // the rows that stay have passed
}

// edit reports whether a row stays.
func (x *extension) edit(r *store.Row) (_ bool, err error) {
	switch r.Kind {
	case store.KindStudy:
		r.Data, err = json.Marshal(x.about)
	case store.KindMoved:
		return false, nil
	case store.KindSuggest, store.KindReport:
		if r.Trial != tuners.StudySession || x.over {
			break
		}
		if x.over = len(x.calls) == 0; !x.over {
			r.Data, err = json.Marshal(x.calls[0])
			x.calls = x.calls[1:]
		}
	case store.KindAlone, store.KindClients, store.KindResult:
		x.over = true
	}
	return !x.over, err
}

// run checks that the rounds of a plain run measured what those of the longer one do.
func (x *extension) run(ctx context.Context) error {
	stored, err := result.Read(ctx, x.setup.Store)
	if err != nil {
		return err
	}
	was, err := config.Load(config.Source{Text: stored.Config})
	if err != nil {
		return err
	}
	if n := stored.Run.Rounds; n < was.Rounds {
		return fmt.Errorf("it ended early, after %d of %d rounds", n, was.Rounds)
	}
	s := x.setup
	s.Unscored = true
	s.untune()
	engine, err := s.engine()
	if err != nil {
		return err
	}
	defer engine.Close()
	before := s
	before.Config.Rounds, before.Config.Eval = was.Rounds, was.Eval
	old, now := meter.New(before.measured(), engine), meter.New(s.measured(), engine)
	if !now.As(old, was.Rounds) {
		if s.Config.Eval.Every == config.AutoEvery && old.Every() > 0 {
			s.Config.Eval.Every = old.Every()
			if meter.New(s.measured(), engine).As(old, was.Rounds) {
				x.instead = fmt.Sprintf("add --set eval.every=%d", old.Every())
				return fmt.Errorf("it was measured every %d rounds, which eval.every = \"auto\" would not do in %d", old.Every(), s.Config.Rounds)
			}
		}
		return errors.New("it would be measured after other rounds, or on other clients")
	}
	return nil
}

// tune finds the calls of a study's tuner that it answers with more rounds as it has done.
func (x *extension) tune(ctx context.Context) error {
	s := x.setup
	x.instead += " with its trials: --set tuner.from=" + oneline.Path(s.Store.Dir()) + " and a tuner that learns from them, such as tpe"
	d, session, err := ready(ctx, &s)
	if err != nil {
		return err
	}
	defer d.close()
	if d.past.Halted {
		return errors.New("a user ended it")
	}
	if t := s.ClientTuner; t != nil {
		about, err := t.Describe(ctx)
		if err == nil && about.Prepare {
			err = fmt.Errorf("client tuner %s prepared itself for its rounds", about.Name)
		}
		if err != nil {
			return err
		}
	}
	if err := d.replan(ctx); err != nil {
		return err
	}
	parallel := s.Config.Tuner.Parallel
	x.calls, x.undone, err = session.Agreed(ctx, parallel == 1)
	switch {
	case err != nil:
		return err
	case session.All(len(x.calls)):
		return fmt.Errorf("tuner %s asks for nothing more", s.Config.Tuner.Name)
	case len(x.undone) >= parallel:
		return fmt.Errorf("tuner %s plans otherwise with %d rounds", s.Config.Tuner.Name, s.Config.Budget.Rounds)
	}
	for n := 0; d.past.Trial(n) != nil; n++ {
		if d.past.Trial(n).Opened.Reference {
			x.undone = append(x.undone, n)
		}
	}
	return nil
}

// replan checks that the client tuner plans recorded rounds as it has done.
func (d *driver) replan(ctx context.Context) error {
	if d.study.Client == nil {
		return nil
	}
	for n := 0; d.past.Trial(n) != nil; n++ {
		rec := d.past.Trial(n).Opened
		if rec.Source != nil {
			return fmt.Errorf("trial %d is a copy of another one", n)
		}
		if rec.Reference {
			break
		}
		t, err := d.study.Open(ctx, trial.Spec{Number: n, Params: rec.Params})
		if err == nil {
			err = t.Replan(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
