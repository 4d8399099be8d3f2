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
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/play"
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
	// Told, unless it is nil, is called after each report to the tuner.
	Told func(Step)
}

// Step is what a tuner was told when it had spent a number of rounds.
type Step struct {
	Spent        int
	Trial, Round int
	// Score is what it was told and Val the error on the validation samples of all clients,
	// both NaN of a trial that failed.
	Score, Val float64
}

// Play plays the study to its end. The params in the result are those that were
// trained. It has no weights; its digests come from the recorded trainings, empty where the
// round was not recorded.
func (p Played) Play(ctx context.Context) (*result.Result, error) {
	start := time.Now()
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	choice, err := play.Study{Session: s.session, Book: s.session.Book(), Runner: s, Parallel: p.Config.Tuner.Parallel}.Play(ctx)
	s.session.Close()
	if err != nil {
		return nil, err
	}
	r, err := s.result(choice)
	if err == nil {
		r.Seconds = time.Since(start).Seconds()
		r.RoundsPerSecond = float64(r.Rounds) / r.Seconds
	}
	return r, err
}

// numbers says that the errors belong to a regression.
func (p Played) numbers() bool { return p.Measure == result.MeasureRMSE }

// Check returns the error of a study that cannot be played.
func (p Played) Check(ctx context.Context) error {
	_, err := p.open(ctx)
	return err
}

// replayed is one at work.
type replayed struct {
	Played
	*shelf
	aims    tuners.Aims
	begun   *record.Priors
	session *replay.Tuner
	scores  fl.Recorded
	trials  []*replayedTrial
	spent   int
}

// replayedTrial is a trial of it.
type replayedTrial struct {
	*trial.Trial // its number and params alone
	*Recording
	worth
	rounds  int
	mean    result.Discounted
	floor   float64
	best    trial.Model
	rungs   []result.Rung
	stopped bool
	failed  bool
}

// open checks the study and opens the tuner's session.
func (p Played) open(ctx context.Context) (*replayed, error) {
	c := &p.Config
	about, err := p.Tuner.Describe(ctx)
	if err != nil {
		return nil, rules.Named(c.Tuner.Name, err)
	}
	refuse := func(name, problem string) error { return &key.Error{Key: name, Problem: problem} }
	switch {
	case c.ClientTuner.Name != "":
		return nil, refuse("client_tuner.name", fmt.Sprintf(" = %q: it changes how clients train, which a table cannot replay; leave it out", c.ClientTuner.Name))
	case about.Rounds || !about.Trials:
		return nil, refuse("tuner.name", fmt.Sprintf(" = %q: it changes how clients train, which a table cannot replay; use a tuner of trials, such as sha", c.Tuner.Name))
	case about.Local:
		return nil, refuse("tuner.name", fmt.Sprintf(" = %q: it has clients train by themselves, which a table cannot replay; use a tuner of trials, such as sha", c.Tuner.Name))
	case about.Fork:
		return nil, refuse("tuner.name", fmt.Sprintf(" = %q: it copies trials, which a table cannot replay; use a tuner that does not, such as sha", c.Tuner.Name))
	case c.Private():
		return nil, refuse("dp.epsilon", ": a table cannot replay private trainings; leave it out")
	case !c.Budget.InRounds():
		return nil, refuse(c.Budget.Key(), ": a table replays rounds; use budget.rounds and budget.trial_rounds")
	case c.Target != cmp.Or(p.Target, tuners.TargetGlobal):
		return nil, refuse("target", fmt.Sprintf(" = %q: the table holds %s errors; leave it out, or record another table with --target %s", c.Target, cmp.Or(p.Target, tuners.TargetGlobal), c.Target))
	}
	d := &driver{setup: &Setup{Config: *c, Tuner: p.Tuner}, budget: c.Budget.Tuners(), objective: c.Aim(), aims: c.Aims(), study: &trial.Study{}}
	if !p.numbers() && math.IsNaN((fl.Score{Error: 0.5, Loss: math.NaN()}).Metric(c.Objective)) {
		return nil, refuse("objective", fmt.Sprintf(" = %q: a table holds errors; use \"error\" or \"accuracy\"", c.Objective))
	}
	if p.numbers() && c.Objective != tuners.MetricError && c.Objective != tuners.MetricRMSE {
		return nil, refuse("objective", fmt.Sprintf(" = %q: a table of a regression holds its RMSE; use \"rmse\"", c.Objective))
	}
	if p.numbers() && c.Score.Epsilon > 0 {
		return nil, errUnbounded()
	}
	for _, name := range d.aims.Metrics()[1:] {
		switch {
		case slices.Contains([]string{tuners.MetricSecondsSimulated, tuners.MetricError, tuners.MetricErrorP90, tuners.MetricErrorWorst, tuners.MetricErrorVariance}, name):
		case name == tuners.MetricRMSE && p.numbers() || (name == tuners.MetricAccuracy || name == tuners.MetricJain) && !p.numbers():
		default:
			return nil, refuse("objectives", fmt.Sprintf(": a table holds no %s; use error, accuracy, error_p90, error_worst, error_variance, jain or seconds_simulated", name))
		}
	}
	if d.space, err = tuners.ParseSpace(c.Space); err != nil {
		return nil, fmt.Errorf("space: %w", err)
	}
	if err := able(about, d.aims, d.space); err != nil {
		return nil, err
	}
	options, err := parseOptions("tuner", c.Tuner.Options)
	if err == nil {
		err = d.validate(ctx, "tuner", p.Tuner, options)
	}
	if err != nil {
		return nil, err
	}
	if d.begun = (&record.Priors{Studies: 1, Trials: len(p.Priors), Priors: p.Priors}); p.Priors == nil {
		if d.begun, err = d.priors(ctx, about); err != nil {
			return nil, err
		}
	}
	val, _, _ := p.Curves.Samples()
	return &replayed{
		Played: p, shelf: newShelf(c, d.objective), aims: d.aims, begun: d.begun,
		scores: fl.Recorded{Seed: c.Seed, Cohort: c.Cohort, Replacement: c.Sampling == "with", Poisson: c.Sampling == fl.SamplingPoisson, Val: val, Numbers: p.numbers()},
		session: replay.New(nil).NewTuner(c.Tuner.Name, p.Tuner, about, tuners.OpenRequest{
			Study: c.Name, Space: d.space, Options: options, Budget: d.budget, Objective: d.objective, Extra: d.aims.Objectives[1:], Constraints: d.aims.Constraints, Seed: c.Seed, Trial: tuners.StudySession,
			Priors: d.begun.List(),
		}),
	}, nil
}

// Act opens or stops a trial.
func (s *replayed) Act(_ context.Context, dec tuners.Decision) error {
	switch dec.Kind {
	case tuners.Start:
		t := &replayedTrial{Trial: &trial.Trial{Spec: trial.Spec{Number: dec.Trial, Params: dec.Params}}}
		t.Recording = s.Curves.Take(dec.Trial, dec.Params)
		s.trials = append(s.trials, t)
	case tuners.Stop:
		s.trials[dec.Trial].stopped = true
	case tuners.Fork, tuners.Score, tuners.Local:
		return fmt.Errorf("tuner %s: a table cannot replay the decision %s", s.Config.Tuner.Name, dec.Kind)
	case tuners.Resume, tuners.Release, tuners.Wait, tuners.Done:
	}
	if dec.Sends() {
		s.trials[dec.Trial].floor = s.floor(s.trials[dec.Trial].Trial)
	}
	return nil
}

// Run reads a trial's curve on.
func (s *replayed) Run(ctx context.Context, segment play.Segment, begins func(rounds int)) (tuners.TrialReport, error) {
	t := s.trials[segment.Trial]
	score := math.NaN()
	if n := len(t.rungs); n > 0 {
		score = t.rungs[n-1].Score
	}
	t.best = trial.Model{Score: math.NaN(), Trial: t.Trial}
	for t.rounds < segment.To {
		if err := ctx.Err(); err != nil {
			return tuners.TrialReport{}, err
		}
		begins(t.rounds)
		if t.failed = t.rounds >= t.Rounds(); t.failed {
			break
		}
		var err error
		if score, err = s.score(t); err != nil {
			return tuners.TrialReport{}, err
		}
	}
	s.rank(&s.best, t.best)
	if t.failed {
		return tuners.TrialReport{Trial: t.Number, Round: t.rounds, Score: math.NaN(), Failed: true, Reason: t.reason()}, nil
	}
	t.mean = result.Discounted{}
	rung := result.Rung{Round: t.rounds, Score: score, Values: t.rung(nil, 0)}
	t.rungs = append(t.rungs, rung)
	return tuners.TrialReport{Trial: t.Number, Round: t.rounds, Score: score, Values: rung.Values}, nil
}

// Rounds is how many are recorded.
func (t *replayedTrial) Rounds() int { return t.Recording.Rounds }

// reason says why a trial failed.
func (t *replayedTrial) reason() string {
	if t.Failed != "" {
		return t.Failed
	}
	return fmt.Sprintf("only %d rounds are recorded", t.Recording.Rounds)
}

// score runs one round and returns the trial's score after it.
func (s *replayed) score(t *replayedTrial) (float64, error) {
	measured := s.scores.Score(t.Number, t.rounds, t.At(t.rounds).Val, t.Dropped[t.rounds+1], s.Config.Score.Options())
	round := measured.Metric(s.objective.Metric)
	t.rounds++
	s.spent++
	if math.IsNaN(round) {
		return 0, fmt.Errorf("trial %d, round %d: no client of the cohort has validation samples to score on; enlarge the cohort", t.Number, t.rounds)
	}
	score := t.mean.Add(round, s.Config.Score.Discount)
	t.add(s.aims, score, s.Config.Score.Discount, func(metric string) float64 {
		if metric == tuners.MetricSecondsSimulated { // of recorded rounds, all between two are alike
			return t.secondsBetween(t.rounds-1, t.rounds)
		}
		return measured.Metric(metric)
	})
	if s.objective.Better(score, t.floor) && s.objective.Better(score, t.best.Score) {
		t.best.Score, t.best.Round = score, t.rounds
	}
	return score, nil
}

// Reporting takes in a report that is about to reach the tuner.
func (s *replayed) Reporting(_ context.Context, r tuners.TrialReport) error {
	t := s.trials[r.Trial]
	s.rank(&s.reported, trial.Model{Score: t.best.Score, Trial: t.Trial})
	if s.Told != nil {
		step := Step{Spent: s.spent, Trial: r.Trial, Round: r.Round, Score: r.Score, Val: math.NaN()}
		if !r.Failed {
			val, _, _ := s.Curves.Samples()
			step.Val = fl.Summarize(t.At(r.Round).Val, val, s.numbers()).Error
		}
		s.Told(step)
	}
	return nil
}

// secondsBetween returns the simulated seconds of the rounds between two, in proportion
// where not each is recorded.
func (r *Recording) secondsBetween(from, to int) float64 {
	return r.secondsAt(to) - r.secondsAt(from)
}

// secondsAt returns the simulated seconds of the first rounds.
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

// alive, length and final belong to a survivor.
func (t *replayedTrial) alive() bool    { return !t.stopped && !t.failed && len(t.rungs) > 0 }
func (t *replayedTrial) length() int    { return t.rounds }
func (t *replayedTrial) final() float64 { return t.rungs[len(t.rungs)-1].Score }
func (t *replayedTrial) number() int    { return t.Number }

// valued are its values there.
func (t *replayedTrial) valued() map[string]float64 { return t.rungs[len(t.rungs)-1].Values }

// result chooses as Tune does.
func (s *replayed) result(choice int) (*result.Result, error) {
	c := &s.Config
	r := &result.Result{Study: c.Name, Select: c.Select, Rounds: s.spent, WarmStart: warmStart(s.begun)}
	for _, t := range s.trials {
		r.Trials = append(r.Trials, s.trialResult(t))
	}
	compare(r, s.aims)
	if len(s.best) == 0 {
		return nil, noModel(c.Tuner.Name, r.Trials)
	}
	var survivor *replayedTrial
	if choice >= 0 {
		survivor = s.trials[choice]
	}
	returned := s.best[0]
	if c.Select == config.SelectFinalists {
		var err error
		if returned, err = s.choose(r, survivor); err != nil {
			return nil, err
		}
		r.Luckiest = s.chosen(s.best[0], r)
	}
	r.Best = *s.chosen(returned, r)
	r.Errors, r.WeightsSHA256 = r.Best.Errors, r.Best.SHA256
	if survivor != nil {
		r.Survivor = s.chosen(s.last(survivor), r)
		r.SurvivorSHA256 = r.Survivor.SHA256
	}
	return r, nil
}

// last is a trial's model after its last round.
func (s *replayed) last(t *replayedTrial) trial.Model {
	if m, ok := s.find(t.Number, t.rounds); ok {
		return m
	}
	return trial.Model{Score: t.final(), Trial: t.Trial, Round: t.rounds}
}

// choose scores the finalists and returns the best.
func (s *replayed) choose(r *result.Result, survivor *replayedTrial) (best trial.Model, err error) {
	var last []trial.Model
	able := eligible(s.trials, s.aims)
	if survivor != nil && !slices.Contains(able, survivor) {
		survivor = nil
	}
	for _, t := range survivorsOf(able, survivor, s.objective, s.Config.Finalists.Snapshots) {
		last = append(last, s.last(t))
	}
	models := withBest(last, ofThem(s.best, able, s.aims))
	for i, m := range models {
		v := s.scores.Validate(s.trials[m.Trial.Number].At(m.Round).Val, fl.EvalConfig{
			Sample: s.Config.Finalists.Clients, Noise: s.Config.Score.Options(), Trial: m.Trial.Number, Round: m.Round,
		})
		if v.Clients == 0 {
			return best, errors.New("the table has no client with validation samples")
		}
		r.Finalists = append(r.Finalists, result.Finalist{
			Trial: m.Trial.Number, Round: m.Round, Survivor: i < len(last), CohortScore: m.Score,
			Score: v.Metric(s.objective.Metric), Clients: v.Clients, Examples: v.Examples,
		})
	}
	return models[bestFinalist(r, s.objective)], nil
}

// chosen describes a model with its errors.
func (s *replayed) chosen(m trial.Model, r *result.Result) *result.Chosen {
	c, t := chosenOf(r, m), s.trials[m.Trial.Number]
	c.Params = t.Params // those that were trained
	point := t.At(m.Round)
	if point.Round == m.Round {
		c.SHA256 = point.SHA256
	}
	val, test, _ := s.Curves.Samples()
	e := &fl.Evaluation{GlobalVal: fl.Summarize(point.Val, val, s.numbers()), GlobalTest: s.tested(point, test)}
	if s.Target == tuners.TargetPersonalized {
		e = &fl.Evaluation{PersonalizedVal: e.GlobalVal, PersonalizedTest: e.GlobalTest}
	}
	c.Errors = result.Errors{Measure: s.Measure, Evaluation: e, Rates: ratesOf(e, someError)}
	return c
}

// tested is the test error of a point.
func (s *replayed) tested(p *RecordedPoint, samples []int) fl.Summary {
	if p.Test != nil {
		return fl.Summarize(p.Test, samples, s.numbers())
	}
	_, _, central := s.Curves.Samples()
	test := fl.Summarize([]float64{p.Central}, []int{central}, s.numbers())
	test.Central = true
	return test
}

// trialResult is the row of a trial.
func (s *replayed) trialResult(t *replayedTrial) result.TrialResult {
	r := result.TrialResult{Number: t.Number, State: result.Completed, Params: t.Params, Rounds: t.rounds, Rungs: t.rungs}
	if len(t.rungs) > 0 {
		r.Score = t.final()
	}
	_, test, _ := s.Curves.Samples()
	for i := range t.Points {
		p := &t.Points[i]
		if e := s.tested(p, test); p.Round > 0 && p.Round <= t.rounds && e.Clients > 0 {
			r.Curve = append(r.Curve, result.CurvePoint{Round: p.Round, TestError: e.Error})
		}
	}
	switch {
	case t.failed:
		r.State, r.Failed = result.Failed, t.reason()
	case t.stopped && t.rounds < s.Config.Budget.TrialRounds:
		r.State = result.Pruned
	}
	return r
}
