package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/internal/play"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// confidence is that of the intervals of a baseline.
const confidence = 0.9

// BaselineResult is what random search reaches beside a study, under the study's
// target: its errors are personalized ones where the objective is and they were
// measured, else the global model's.
type BaselineResult struct {
	// Rounds is the length of each training.
	Rounds int `json:"rounds"`
	// Target is that of the errors.
	Target string `json:"target"`
	// Trials are the configurations in the order in which they were drawn.
	Trials []BaselineTrial `json:"trials"`
	// Best is the number of the configuration with the best validation score, which
	// random search would return.
	Best int `json:"best"`
	// BestTest is its test error, MedianTest the median of those of all.
	BestTest   float64 `json:"best_test_error"`
	MedianTest float64 `json:"median_test_error"`
	// MedianInterval holds the median of such configurations with a probability of
	// 90 % or more, by order statistics; nil of fewer than five, of which none does.
	MedianInterval *[2]float64 `json:"median_interval,omitempty"`
	// Gain is by how much the test error of the study's returned model is lower than
	// BestTest; nil where that was not measured. GainHalf is half the width of its
	// 90 % interval over clients, which takes the two errors as independent; nil
	// where errors have no Summary.StdErr.
	Gain     *float64 `json:"gain,omitempty"`
	GainHalf *float64 `json:"gain_half,omitempty"`
	Seconds  float64  `json:"seconds"`
}

// Spent is how many rounds its trainings took together.
func (b *BaselineResult) Spent() int { return b.Rounds * len(b.Trials) }

// BaselineTrial is one random configuration.
type BaselineTrial struct {
	Number int           `json:"number"`
	Params tuners.Params `json:"params"`
	// Score is the study's objective on the clients' validation samples, NaN
	// without any.
	Score record.Real `json:"score"`
	// TestError is the test error, StdErr its standard error over clients, nil where
	// it has none.
	TestError float64  `json:"test_error"`
	StdErr    *float64 `json:"std_error,omitempty"`
	// Seconds is how long the baseline had taken when it was done.
	Seconds float64 `json:"seconds"`
}

// baselineRecord is the beginning of a baseline.
type baselineRecord struct {
	Configurations int    `json:"configurations"`
	Rounds         int    `json:"rounds"`
	Target         string `json:"target"`
	Maximize       bool   `json:"maximize,omitempty"` // the scores
}

// Comparison is a baseline as far as it has been computed.
type Comparison struct {
	// Configurations is the number of configurations, and Rounds the number of rounds
	// that each is trained for.
	Configurations, Rounds int
	Target                 string
	maximize               bool
	// Done are those that have been trained and measured, by their numbers.
	Done []BaselineTrial
}

// Complete reports whether all configurations are done.
func (c *Comparison) Complete() bool { return len(c.Done) >= c.Configurations }

// Stage describes in words how far it is.
func (c *Comparison) Stage() string {
	return fmt.Sprintf("random search, trial %d of %d", min(len(c.Done)+1, c.Configurations), c.Configurations)
}

// add takes in a configuration that is done.
func (c *Comparison) add(t BaselineTrial) {
	at, found := slices.BinarySearchFunc(c.Done, t.Number, func(a BaselineTrial, n int) int { return a.Number - n })
	if !found {
		c.Done = slices.Insert(c.Done, at, t)
	}
}

// result sums up a complete comparison with a study's result.
func (c *Comparison) result(r *Result) *BaselineResult {
	b := &BaselineResult{Rounds: c.Rounds, Target: c.Target, Trials: c.Done[:c.Configurations]}
	aim := tuners.Objective{}
	if c.maximize {
		aim.Direction = tuners.Maximize
	}
	var errs []float64
	for i, t := range b.Trials {
		if aim.Better(float64(t.Score), float64(b.Trials[b.Best].Score)) {
			b.Best = i
		}
		errs = append(errs, t.TestError)
		b.Seconds = max(b.Seconds, t.Seconds)
	}
	best := b.Trials[b.Best]
	b.BestTest = best.TestError
	b.MedianTest, b.MedianInterval = median(errs)
	own := c.returned(r)
	if own.Clients > 0 {
		b.Gain = new(b.BestTest - own.Error)
		if own.StdErr != nil && best.StdErr != nil && own.Clients > 1 {
			t := distuv.StudentsT{Sigma: 1, Nu: float64(own.Clients - 1)}.Quantile((1 + confidence) / 2)
			b.GainHalf = new(t * math.Hypot(*own.StdErr, *best.StdErr))
		}
	}
	return b
}

// returned is the test summary of the returned model that is compared.
func (c *Comparison) returned(r *Result) fl.Summary {
	switch {
	case r.Evaluation == nil:
		return fl.Summary{}
	case c.Target == tuners.TargetPersonalized:
		return r.Evaluation.PersonalizedTest
	}
	return r.Evaluation.GlobalTest
}

// median returns the median of numbers and, of five or more, the narrowest pair of
// order statistics, alike far from both ends, between which the median of their
// distribution lies with a probability of confidence or more.
func median(xs []float64) (float64, *[2]float64) {
	xs = slices.Sorted(slices.Values(xs))
	n := len(xs)
	middle := (xs[(n-1)/2] + xs[n/2]) / 2
	below := distuv.Binomial{N: float64(n), P: 0.5}
	for k := (n - 1) / 2; k >= 0; k-- { // the interval from the k-th, counted from 0, at both ends
		if 1-2*below.CDF(float64(k)) >= confidence {
			return middle, &[2]float64{xs[k], xs[n-1-k]}
		}
	}
	return middle, nil
}

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
func Baseline(ctx context.Context, s Setup, r *Result, n, rounds int) (*BaselineResult, error) {
	c, err := beginBaseline(ctx, s.Store, baselineRecord{n, rounds, targetOf(&s.Config, s.Data), s.Config.Aim().Direction == tuners.Maximize})
	if err != nil {
		return nil, err
	}
	record := replay.New(s.Store)
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
	b := &baseline{runner: runner{driver: d, lanes: &lanes{to: silent{}}}, comparison: c, record: record, start: time.Now()}
	for _, t := range c.Done {
		b.before = max(b.before, t.Seconds)
	}
	if _, err := (play.Study{Session: session, Book: session.Book(), Parallel: s.Config.Tuner.Parallel, Lanes: d.lanes(), Runner: b}).Play(ctx); err != nil {
		return nil, err
	}
	if !c.Complete() {
		return nil, fmt.Errorf("baseline: tuner %s ran only %d of %d configurations", s.Config.Tuner.Name, len(c.Done), n)
	}
	return c.result(r), nil
}

// targetOf is whose errors are compared: personalized ones only where clients have test
// samples of their own.
func targetOf(c *config.Config, fed *data.Federation) string {
	if c.Target == tuners.TargetPersonalized && c.Eval.Personalized && clientsTest(fed) {
		return c.Target
	}
	return tuners.TargetGlobal
}

// comparison is a baseline that has just begun.
func (r baselineRecord) comparison() *Comparison {
	return &Comparison{Configurations: r.Configurations, Rounds: r.Rounds, Target: r.Target, maximize: r.Maximize}
}

// beginBaseline returns what a store holds of a baseline, and notes there that it has
// begun.
func beginBaseline(ctx context.Context, s *store.Store, rec baselineRecord) (*Comparison, error) {
	c := rec.comparison()
	if s == nil {
		return c, nil
	}
	stored, err := Read(ctx, s)
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
	comparison *Comparison
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
	r := BaselineTrial{Number: t.Number, Params: t.Params, Score: record.Real(math.NaN()), Seconds: b.before + time.Since(b.start).Seconds()}
	val, test := e.GlobalVal, e.GlobalTest
	if b.comparison.Target == tuners.TargetPersonalized {
		val, test = e.PersonalizedVal, e.PersonalizedTest
	}
	if val.Clients > 0 {
		r.Score = record.Real(val.Metric(d.objective.Metric))
	}
	r.TestError, r.StdErr = test.Error, test.StdErr
	t.Free()
	if err := errors.Join(b.record.Append(store.KindConfiguration, tuners.StudySession, t.Rounds(), r), b.record.Flush()); err != nil {
		return tuners.TrialReport{}, err
	}
	b.mu.Lock()
	b.comparison.add(r)
	b.mu.Unlock()
	return tuners.TrialReport{Trial: s.Trial, Round: s.To, Score: float64(r.Score)}, nil
}

// done returns what is recorded of a trial, nil for nothing.
func (b *baseline) done(t *entrant) *BaselineTrial {
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
