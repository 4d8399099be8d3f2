package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// Curves are trainings that were recorded. A Played takes them instead of training.
type Curves interface {
	// Take returns the training that stands for a new trial.
	Take(trial int, p tuners.Params) *Recording
	// Samples are the numbers of validation and test samples of all clients. central belongs
	// to the federation's own test set, 0 without one.
	Samples() (val, test []int, central int)
}

// Played is a study whose trials are recorded ones: a tuner is asked, checked and told as by
// Tune, and scores are drawn and taken by the same code. Errors of personalized models come from
// evaluations, as those of finalists are. The local training in a study's rounds draws otherwise, the
// order of samples above all, so that its scores differ where that changes them.
type Played struct {
	// Config is the configuration of the study. It has no client tuner.
	Config config.Config
	Tuner  tuners.Tuner
	Curves Curves
	// Measure is what the errors are, see Errors.Measure.
	Measure string
	// Target is whose errors they are, which that of Config must be; empty for global.
	Target string
	// Priors, unless they are nil, are what a warm start tells the tuner in place of tuner.from.
	Priors []tuners.Prior
}

// Play plays the study to its end. The params in the result are those that were
// trained. It has no weights; its digests come from the recorded trainings, empty where the
// round was not recorded.
func (p Played) Play(ctx context.Context) (*result.Result, error) {
	start := time.Now()
	t, session, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	survivor, err := t.follow(ctx, session)
	session.Close()
	if err != nil {
		return nil, err
	}
	r, err := t.result(ctx, survivor)
	if err != nil {
		return nil, err
	}
	for i, taken := range t.taken {
		r.Trials[i].Params = taken.Params
	}
	r.Seconds = time.Since(start).Seconds()
	r.RoundsPerSecond = float64(r.Rounds) / r.Seconds
	return r, nil
}

// numbers says that the errors belong to a regression.
func (p Played) numbers() bool { return p.Measure == result.MeasureRMSE }

// Check returns the error of a study that cannot be played.
func (p Played) Check(ctx context.Context) error {
	_, _, err := p.open(ctx)
	return err
}

// table is a study at work on recorded trials, whose models it judges.
type table struct {
	Played
	*driver
	scores    fl.Recorded
	val, test []int // samples
	central   int
	taken     []*Recording // by trial
}

// open checks the study and opens the tuner's session.
func (p Played) open(ctx context.Context) (*table, *replay.Tuner, error) {
	p.Target = cmp.Or(p.Target, tuners.TargetGlobal)
	p.Config.Eval.Goal, p.Config.Eval.Patience = 0, 0
	if err := p.refuse(ctx); err != nil {
		return nil, nil, err
	}
	s := &Setup{Config: p.Config, Tuner: p.Tuner}
	s.complete()
	c := &s.Config
	t := &table{Played: p}
	t.driver = &driver{
		setup: s, past: replay.New(nil), objective: c.Aim(), aims: c.Aims(), budget: c.Budget.Tuners(), shelf: newShelf(c, c.Aim()),
		errorMeasure: p.Measure, judge: t,
	}
	if p.Priors != nil {
		t.begun = &record.Priors{Studies: 1, Trials: len(p.Priors), Priors: p.Priors}
	}
	var err error
	if t.space, err = tuners.ParseSpace(c.Space); err != nil {
		return nil, nil, fmt.Errorf("space: %w", err)
	}
	hyper := trial.Hyper{Base: c.Hyper(), Adds: map[string]bool{}}
	if hyper.Method, err = fl.MethodByName(c.Method); err != nil {
		return nil, nil, err
	}
	for _, dim := range t.space { // they have been trained with
		hyper.Adds[dim.Name] = true
	}
	t.study = &trial.Study{
		Meter: &meter.Meter{Study: meter.Study{Config: c}}, Past: t.past, Shelf: t.shelf, Log: s.Log, Hyper: hyper, Recorded: t.round,
	}
	t.val, t.test, t.central = p.Curves.Samples()
	t.scores = fl.Recorded{
		Seed: c.Seed, Cohort: c.Cohort, Replacement: c.Sampling == "with", Poisson: c.Sampling == fl.SamplingPoisson, Shared: c.SharesCohorts(), Val: t.val, Numbers: p.numbers(),
	}
	session, err := t.openStudySession(ctx)
	return t, session, err
}

// refuse returns the error of a study that a table cannot replay.
func (p Played) refuse(ctx context.Context) error {
	c := &p.Config
	about, err := p.Tuner.Describe(ctx)
	if err != nil {
		return rules.Named(c.Tuner.Name, err)
	}
	refuse := func(name, problem string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(problem, args...)}
	}
	const instead = "which a table cannot replay; use a tuner of trials, such as sha"
	switch {
	case c.ClientTuner.Name != "":
		return refuse("client_tuner.name", " = %q: it changes how clients train, which a table cannot replay; leave it out", c.ClientTuner.Name)
	case about.Rounds || !about.Trials:
		return refuse("tuner.name", " = %q: it changes how clients train, %s", c.Tuner.Name, instead)
	case about.Local:
		return refuse("tuner.name", " = %q: it has clients train by themselves, %s", c.Tuner.Name, instead)
	case about.Fork:
		return refuse("tuner.name", " = %q: it copies trials, which a table cannot replay; use a tuner that does not, such as sha", c.Tuner.Name)
	case c.Private():
		return refuse("dp.epsilon", ": a table cannot replay private trainings; leave it out")
	case c.Sampling == fl.SamplingSize:
		return refuse("sampling", " = %q: a table holds no numbers of training samples; leave it out", c.Sampling)
	case len(c.Eval.Baselines) > 0:
		return refuse("eval.baselines", ": a table cannot replay trainings without federation; leave it out")
	case !c.Budget.InRounds():
		return refuse(c.Budget.Key(), ": a table replays rounds; use budget.rounds and budget.trial_rounds")
	case c.Target != p.Target:
		return refuse("target", " = %q: the table holds %s errors; leave it out, or record another table with --target %s", c.Target, p.Target, c.Target)
	case p.numbers() && c.Objective != tuners.MetricError && c.Objective != tuners.MetricRMSE:
		return refuse("objective", " = %q: a table of a regression holds its RMSE; use \"rmse\"", c.Objective)
	case !p.numbers() && math.IsNaN((fl.Score{Error: 0.5, Loss: math.NaN()}).Metric(c.Objective)):
		return refuse("objective", " = %q: a table holds errors; use \"error\" or \"accuracy\"", c.Objective)
	case p.numbers() && c.Score.Epsilon > 0:
		return errUnbounded()
	}
	held := []string{
		tuners.MetricSecondsSimulated, tuners.MetricError, tuners.MetricErrorP90, tuners.MetricErrorWorst, tuners.MetricErrorVariance,
	}
	if p.numbers() {
		held = append(held, tuners.MetricRMSE)
	} else {
		held = append(held, tuners.MetricAccuracy, tuners.MetricJain)
	}
	for _, name := range c.Aims().Metrics()[1:] {
		if !slices.Contains(held, name) {
			return refuse("objectives", ": a table holds no %s; use error, accuracy, error_p90, error_worst, error_variance, jain or seconds_simulated", name)
		}
	}
	return nil
}

// round returns what a trial's next round measured, after the given number of rounds.
func (t *table) round(of *trial.Trial, rounds int) (*record.Round, error) {
	if of.Number == len(t.taken) {
		t.taken = append(t.taken, t.Curves.Take(of.Number, of.Params))
	}
	r := t.taken[of.Number]
	if rounds >= r.Rounds {
		return nil, &trial.FailError{Fail: record.Fail{Reason: cmp.Or(r.Failed, fmt.Sprintf("only %d rounds are recorded", r.Rounds))}}
	}
	measured := t.scores.Score(of.Number, rounds, r.At(rounds).Val, r.Dropped[rounds+1], t.Config.Score.Options())
	rec := &record.Round{Score: record.Real(measured.Metric(t.objective.Metric))}
	if names := t.aims.Metrics()[1:]; len(names) > 0 { // of recorded rounds, all between two take alike
		rec.Seconds, rec.Values = new(record.Real(r.secondsAt(rounds+1)-r.secondsAt(rounds))), map[string]record.Real{}
		for _, name := range names {
			rec.Values[name] = record.Real(measured.Metric(name))
		}
	}
	if p := r.At(rounds + 1); p.Round == rounds+1 {
		if e := t.tested(p); e.Clients > 0 {
			rec.TestError = new(record.Real(e.Error))
		}
	}
	return rec, nil
}

// secondsAt returns the simulated seconds of the first rounds, in proportion where not each
// is recorded.
func (r *Recording) secondsAt(rounds int) float64 {
	before := RecordedPoint{}
	for _, p := range r.Points {
		if p.Round >= rounds && p.Round > before.Round {
			return before.Seconds + (p.Seconds-before.Seconds)*float64(rounds-before.Round)/float64(p.Round-before.Round)
		}
		before = p
	}
	return before.Seconds
}

// finalScore scores a finalist by the recorded errors.
func (t *table) finalScore(_ context.Context, m *trial.Model, _ string) (*fl.Summary, error) {
	v := t.scores.Validate(t.taken[m.Trial.Number].At(m.Round).Val, fl.EvalConfig{
		Sample: t.Config.Finalists.Clients, Noise: t.Config.Score.Options(), Trial: m.Trial.Number, Round: m.Round,
	})
	if v.Clients == 0 {
		return nil, errors.New("the table has no client with validation samples")
	}
	return v, nil
}

// evaluate takes the errors of a model from the table.
func (t *table) evaluate(_ context.Context, c *result.Chosen, m *trial.Model, _ string) error {
	r := t.taken[m.Trial.Number]
	c.Params = r.Params // those that were trained
	point := r.At(m.Round)
	if point.Round == m.Round {
		c.SHA256 = point.SHA256
	}
	e := &fl.Evaluation{GlobalVal: fl.Summarize(point.Val, t.val, t.numbers()), GlobalTest: t.tested(point)}
	if t.Target == tuners.TargetPersonalized {
		e = &fl.Evaluation{PersonalizedVal: e.GlobalVal, PersonalizedTest: e.GlobalTest}
	}
	c.Errors = result.Errors{Measure: t.Measure, Evaluation: e, Rates: ratesOf(e, someError)}
	return nil
}

// tested is the test error of a point.
func (t *table) tested(p *RecordedPoint) fl.Summary {
	if p.Test != nil {
		return fl.Summarize(p.Test, t.test, t.numbers())
	}
	test := fl.Summarize([]float64{p.Central}, []int{t.central}, t.numbers())
	test.Central = true
	return test
}
