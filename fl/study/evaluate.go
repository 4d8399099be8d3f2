package study

import (
	"context"
	"errors"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/tuners"
)

// Measure evaluates weights on the federation of a set-up as Run does with those
// that it has trained: on the clients of Config.Eval, globally and, unless
// it is set otherwise, after each client's local training with the configuration's
// hyperparameters and, over them, those of params. Names in params that are no
// hyperparameters, which client tuners bring, are passed over. Clients that keep a
// state begin without one, in round 0; Remeasure has what a study knows besides.
func Measure(ctx context.Context, s Setup, weights []float32, params tuners.Params) (*result.Errors, error) {
	s.Config.DP = config.DP{} // nothing is trained for the server
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	h, err := s.Config.Hyper().With(params, foreign(params))
	if err != nil {
		return nil, err
	}
	e, err := engine.Evaluate(ctx, weights, evaluation(&s.Config, 0, []fl.ClientParams{h.Client}, h.Server, nil, s.Observer, ""))
	if err != nil {
		return nil, err
	}
	r, err := errorsOf(&s, engine, e)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// Predict passes on what weights predict of every client's samples; see
// fl.Engine.Predict.
func Predict(ctx context.Context, s Setup, weights []float32, splits []string, each func(fl.Predictions) error) error {
	s.Config.DP = config.DP{}
	engine, err := s.engine()
	if err != nil {
		return err
	}
	defer engine.Close()
	return engine.Predict(ctx, weights, splits, each)
}

// evaluation returns how a model after a round of a configuration is measured, with the
// hyperparameters of the personalized model's local training. The method remembers
// memory of the trial. model is the model of Evaluated.
func evaluation(c *config.Config, round int, clients []fl.ClientParams, server fl.ServerParams, memory *fl.State, o Observer, model string) fl.EvalConfig {
	if !c.Eval.Personalized {
		clients = nil
	}
	return fl.EvalConfig{Clients: clients, Kept: !c.Eval.Adapt, Round: round, Server: &server, State: memory, Sample: c.Eval.Clients, Measures: true, Done: evaluated(o, model)}
}

// evaluate returns the errors of a model on the clients of Config.Eval. name is the name of
// Evaluated.
func (d *driver) evaluate(ctx context.Context, m *trial.Model, name string) (result.Errors, error) {
	clients, err := m.TestClients(ctx)
	if err != nil {
		return result.Errors{}, err
	}
	e, err := d.measure(ctx, m, clients, name)
	if err != nil {
		return result.Errors{}, err
	}
	return errorsOf(d.setup, d.engine, e)
}

// measure measures a model, and the personalized ones of clients with hyperparameters.
func (d *driver) measure(ctx context.Context, m *trial.Model, clients []fl.ClientParams, name string) (*fl.Evaluation, error) {
	e, err := d.engine.Evaluate(ctx, m.Weights, evaluation(&d.setup.Config, m.Round, clients, m.Trial.Hyper().Server, m.Memory, d.setup.Observer, name))
	return e, d.crashed(err)
}

// crashed logs the stack of a panic in an evaluation, whose error has only its
// value.
func (d *driver) crashed(err error) error {
	if p, ok := errors.AsType[*shard.PanicError](err); ok {
		d.setup.Log.Error("an evaluation failed", "reason", p, "stack", string(p.Stack))
	}
	return err
}

// errorsOf picks the errors of an evaluation.
func errorsOf(s *Setup, engine *fl.Engine, e *fl.Evaluation) (result.Errors, error) {
	m := s.Model
	e.Forget()
	trivial, err := trivialOf(e, m, s.Data, engine.EvalSample(s.Config.Eval.Clients))
	if err != nil {
		return result.Errors{}, err
	}
	r := result.Errors{Trivial: trivial, Measure: result.MeasureOfModel(m), Evaluation: e, Rates: ratesOf(e, someError)}
	for _, mask := range s.Data.Masks {
		r.Masked = append(r.Masked, result.MaskedRates{Mask: mask.Name, Rates: ratesOf(e, func(s fl.Summary) *float64 {
			for _, m := range s.Masked {
				if m.Mask == mask.Name {
					return &m.Error
				}
			}
			return nil
		})})
	}
	return r, nil
}

// someError is the error of a summary, nil if it is of no clients.
func someError(s fl.Summary) *float64 {
	if s.Clients == 0 {
		return nil
	}
	return &s.Error
}

// ratesOf takes one error, nil where there is none, of each part of an evaluation.
func ratesOf(e *fl.Evaluation, of func(fl.Summary) *float64) result.Rates {
	return result.Rates{
		GlobalVal: of(e.GlobalVal), GlobalTest: of(e.GlobalTest), PersonalizedVal: of(e.PersonalizedVal),
		PersonalizedTest: of(e.PersonalizedTest), UnseenTest: of(e.Unseen), UnseenAdapted: of(e.UnseenAdapted),
	}
}

// Retrain trains one trial of a set-up with Config.Eval.RecordEvery alone, without a tuner and
// to its last round or until it fails, and returns what is recorded of it: the same bits as in the
// study, since all that a trial draws is keyed by its number.
func Retrain(ctx context.Context, s Setup, number int, params tuners.Params) (*Recording, error) {
	s.Tuner, s.ClientTuner, s.Config.Cohorts = nil, nil, config.CohortsOwn
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	h, err := s.Config.Hyper().With(params, nil)
	if err != nil {
		return nil, err
	}
	m := meter.New(s.measured(), engine)
	plan := fl.Plan{Server: h.Server, Time: h.Time, Sampler: h.Sampler, Update: h.Update, Aggregator: h.Aggregator, Clients: []fl.ClientParams{h.Client}, Probes: s.scoreProbes()}
	r := &Recording{Trial: number, Seed: s.Config.Seed, Params: params, Dropped: map[int][]int{}}
	sum := &RecordedPoint{}
	for tr := engine.NewTrial(number); tr.Rounds() < s.Config.Budget.TrialRounds; {
		rec, err := m.Round(ctx, tr, plan, nil)
		err = trial.Fails(r.Rounds+1, rec, err, s.Config.Nonfinite)
		if failed, ok := errors.AsType[*trial.FailError](err); ok {
			r.fail(failed.Reason)
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		r.take(tr.Rounds(), rec, sum)
	}
	return r, nil
}
