package study

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// driver is a study at work.
type driver struct {
	setup        *Setup
	engine       *fl.Engine
	study        *trial.Study
	past         *replay.Past
	space        tuners.Space
	budget       tuners.Budget
	objective    tuners.Objective
	aims         tuners.Aims // which objective begins
	lone         bool        // the client tuner has no wrapper: there is one trial
	sides        []result.ProxyTrial
	searched     *result.LocalSearch // what clients trained by themselves; nil for none
	locals       int                 // points with which they did, of all searches
	samples      bool                // the tuner sees the clients' numbers of validation samples
	reference    *entrant            // the trial of the configured values, nil without one
	begun        *record.Priors      // with what the tuner begins, nil with nothing
	errorMeasure string              // see Errors.Measure
	judge        judge
	spared       []*entrant // that the tuner has stopped and that may be finalists
	*shelf
	entrants
}

// judge measures models.
type judge interface {
	// finalScore returns the score of a finalist, evaluate fills in what a result has of a model.
	// name is the name of Evaluated.
	finalScore(ctx context.Context, m *trial.Model, name string) (*fl.Summary, error)
	evaluate(ctx context.Context, c *result.Chosen, m *trial.Model, name string) error
}

// mostHeld bounds the memory, in bytes, of weights of trials that wait and would train
// again sooner than they are stored.
const mostHeld = 256 << 20

// newDriver checks a set-up with its tuners, reads what is recorded of the study
// and starts the engine.
func newDriver(ctx context.Context, s *Setup) (*driver, error) {
	c := &s.Config
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := checkMetrics(s); err != nil {
		return nil, err
	}
	past, err := replay.Read(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	past.Log = s.Log
	_, waiting, err := s.Memory()
	if err != nil {
		engine.Close()
		return nil, err
	}
	method, _ := s.methodNamed() // the engine has it
	m := meter.New(s.measured(), engine)
	d := &driver{
		setup: s, engine: engine, past: past, objective: m.Objective, aims: c.Aims(), budget: c.Budget.Tuners(),
		shelf: newShelf(c, m.Objective), errorMeasure: result.MeasureOfModel(s.Model),
	}
	d.judge = &trained{d}
	d.study = &trial.Study{
		Engine: engine, Meter: m, Past: past, Away: s.away(), Shelf: d.shelf, Log: s.Log,
		Hyper:  trial.Hyper{Base: c.Hyper(), Adds: map[string]bool{}, Method: method, Probes: s.scoreProbes()},
		Stored: trial.Stored{Every: s.SnapshotEvery, Last: s.KeepTrials, Held: int(mostHeld / max(1, waiting))},
	}
	if s.sealed {
		d.study.Recorded = missing
	}
	if err := d.openTuners(ctx); err != nil {
		engine.Close()
		return nil, err
	}
	return d, nil
}

// measured is the set-up as its meter needs it.
func (s *Setup) measured() meter.Study {
	return meter.Study{Config: &s.Config, Data: s.Data, Model: s.Model, Unscored: s.Unscored, Account: s.account}
}

// scoreProbes are the probes from which a round's scores come.
func (s *Setup) scoreProbes() []string {
	c := &s.Config
	switch {
	case s.Unscored:
		return nil
	case c.Score.Both:
		return []string{"val_error_before", "val_error_after"}
	case c.Target == tuners.TargetPersonalized:
		return []string{"val_error_after"}
	}
	return []string{"val_error_before"}
}

// checkMetrics returns an error for an objective that the model's loss does not
// have, and for what needs an error from 0 to 1.
func checkMetrics(s *Setup) error {
	if err := cmp.Or(checkCurve(s), checkBaselines(s)); err != nil {
		return err
	}
	if s.Model.Loss().Numbers() && s.Config.Score.Epsilon > 0 {
		return errUnbounded()
	}
	if s.Model.Loss().Numbers() && s.Config.NoisyScores() && !s.Unscored {
		return &key.Error{Key: "objective", Problem: fmt.Sprintf(" = %q: the error of a regression has no bound, so that "+
			"private scores would be decided by their noise; use fedfast run, or dp.scores = \"public\"", s.Config.Objective)}
	}
	for _, name := range s.Config.Aims().Metrics() {
		if err := checkMetric(s.Model, name); err != nil {
			return err
		}
	}
	return nil
}

// errUnbounded is the error of a private score of a regression.
func errUnbounded() error {
	return &key.Error{Key: "score.epsilon", Problem: ": the error of a regression has no bound, so no noise makes it private; leave score.epsilon out"}
}

// close ends the sessions of all trials and the engine.
func (d *driver) close() {
	for _, t := range d.trials {
		t.CloseSession()
	}
	d.engine.Close()
}
