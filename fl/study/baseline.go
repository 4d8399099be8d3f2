package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// clientsTest reports whether clients have test samples.
func clientsTest(fed *data.Federation) bool {
	return slices.ContainsFunc(fed.Clients, func(c data.Client) bool { return c.Test.Len() > 0 })
}

// CheckBaseline returns an error for data on which Baseline has nothing to measure.
func CheckBaseline(fed *data.Federation) error {
	if fed.Test.Len() > 0 || clientsTest(fed) {
		return nil
	}
	return errors.New("no client has test samples for the comparison; set data.split so that they do")
}

// Baseline trains n configurations that the tuner of s suggests, each for the same
// number of rounds and without a client tuner, and measures each under the study's
// target. With random search as the tuner it is the yardstick of the study that ended
// with r. What the store of s holds is not trained again; each configuration is in it
// once it is measured. The clients have test samples, see CheckBaseline.
func Baseline(ctx context.Context, s Setup, r *result.Result, n, rounds int) (*result.BaselineResult, error) {
	c, err := beginBaseline(ctx, s.Store, record.Baseline{Configurations: n, Rounds: rounds, Target: targetOf(&s.Config, s.Data), Maximize: s.Config.Aim().Direction == tuners.Maximize})
	if err != nil {
		return nil, err
	}
	past := replay.New(s.Store)
	s.ClientTuner, s.Store, s.Trainer, s.Control = nil, nil, nil, nil
	s.Config.ClientTuner = config.ClientTuner{}
	s.Config.Eval.Every, s.Config.Eval.EveryClients, s.Config.Eval.Goal, s.Config.Eval.Patience = 0, 0, 0, 0
	s.Config.Budget = config.Budget{Rounds: n * rounds, TrialRounds: rounds}
	s.Config.Tuner.Options = nil
	d, err := newDriver(ctx, &s)
	if err != nil {
		return nil, err
	}
	defer d.close()
	session, err := d.openStudySession(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	d.setup.Control.open(d)
	b := &baseline{runner: runner{driver: d, lanes: &lanes{to: silent{}}}, comparison: c, record: past, start: time.Now()}
	for _, t := range c.Done {
		b.before = max(b.before, t.Seconds)
	}
	if _, err := (play.Study{Session: session, Book: session.Book(), Parallel: s.Config.Tuner.Parallel, Lanes: d.lanes(), Runner: b}).Play(ctx); err != nil {
		return nil, err
	}
	if !c.Complete() {
		return nil, fmt.Errorf("baseline: tuner %s ran only %d of %d configurations", s.Config.Tuner.Name, len(c.Done), n)
	}
	return c.Result(r), nil
}

// targetOf is whose errors are compared: personalized ones only where clients have test
// samples of their own.
func targetOf(c *config.Config, fed *data.Federation) string {
	if c.Target == tuners.TargetPersonalized && c.Eval.Personalized && clientsTest(fed) {
		return c.Target
	}
	return tuners.TargetGlobal
}

// beginBaseline returns what a store holds of a baseline, and notes there that it has
// begun.
func beginBaseline(ctx context.Context, s *store.Store, rec record.Baseline) (*result.Comparison, error) {
	c := &result.Comparison{Configurations: rec.Configurations, Rounds: rec.Rounds, Target: rec.Target, Maximize: rec.Maximize}
	if s == nil {
		return c, nil
	}
	stored, err := result.Read(ctx, s)
	if err != nil {
		return nil, err
	}
	if have := stored.Baseline; have != nil {
		c.Done = have.Done
		if have.Configurations == c.Configurations {
			return c, nil
		}
	}
	h := replay.New(s)
	if err := h.Append(store.KindBaseline, tuners.StudySession, rec.Rounds, rec); err != nil {
		return nil, err
	}
	return c, h.Flush()
}

// baseline runs the configurations of a comparison.
type baseline struct {
	runner
	record *replay.Past
	start  time.Time
	before float64 // seconds that earlier processes took

	mu         sync.Mutex // guards comparison
	comparison *result.Comparison
}

// Run trains a configuration and measures it, unless that is recorded.
func (b *baseline) Run(ctx context.Context, s play.Segment, begins func(rounds int)) (tuners.TrialReport, error) {
	d := b.driver
	t := d.trial(s.Trial)
	defer t.lane.end()
	t.lowest = math.NaN() // no model is kept
	if done := b.done(t); done != nil {
		d.count(s.To)
		return tuners.TrialReport{Trial: s.Trial, Round: s.To, Score: float64(done.Score)}, nil
	}
	t.floor = math.Inf(-1)
	if d.objective.Direction == tuners.Maximize {
		t.floor = math.Inf(1)
	}
	if err := t.segment(ctx, s.To, begins, t.lane.event); err != nil {
		return tuners.TrialReport{}, err
	}
	if t.Phase() == trial.Failed {
		return tuners.TrialReport{}, fmt.Errorf("baseline: trial %d failed in %s", t.Number, t.Reason())
	}
	m := t.LastModel(math.NaN())
	e, err := b.evaluate(ctx, &m)
	if err != nil {
		return tuners.TrialReport{}, err
	}
	r := result.BaselineTrial{Number: t.Number, Params: t.Params, Score: record.Real(math.NaN()), Seconds: b.before + time.Since(b.start).Seconds()}
	val, test := e.GlobalVal, e.GlobalTest
	if b.comparison.Target == tuners.TargetPersonalized {
		val, test = e.PersonalizedVal, e.PersonalizedTest
	}
	if val.Clients > 0 {
		r.Score = record.Real(val.Metric(d.objective.Metric))
	}
	r.TestError, r.StdErr = test.Error, test.StdErr
	if tuners.OfAnswers(d.objective.Metric) {
		r.TestScore = test.Measures.Get(d.objective.Metric)
	}
	t.Free()
	if err := errors.Join(b.record.Append(store.KindConfiguration, tuners.StudySession, t.Rounds(), r), b.record.Flush()); err != nil {
		return tuners.TrialReport{}, err
	}
	b.mu.Lock()
	b.comparison.Add(r)
	b.mu.Unlock()
	return tuners.TrialReport{Trial: s.Trial, Round: s.To, Score: float64(r.Score)}, nil
}

// done returns what is recorded of a trial, nil for nothing.
func (b *baseline) done(t *entrant) *result.BaselineTrial {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.comparison.Done {
		if have := &b.comparison.Done[i]; have.Number == t.Number && have.Params.Equal(t.Params) {
			return have
		}
	}
	return nil
}

// evaluate measures a configuration on all clients.
func (b *baseline) evaluate(ctx context.Context, m *trial.Model) (*fl.Evaluation, error) {
	if err := m.Fill(ctx); err != nil {
		return nil, err
	}
	var clients []fl.ClientParams
	if b.comparison.Target == tuners.TargetPersonalized {
		clients = m.Trial.Own().Clients
	}
	return b.driver.measure(ctx, m, clients, fmt.Sprintf("configuration %d of %d", m.Trial.Number+1, b.comparison.Configurations))
}
