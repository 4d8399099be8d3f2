package study

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// Measure evaluates weights on the federation of a set-up as Run does with those
// that it has trained: on the clients that Config.Eval says, globally and, unless
// it says otherwise, after each client's local training with the configuration's
// hyperparameters and, over them, those of params. Names in params that are no
// hyperparameters, which client tuners bring, are passed over. Clients that keep a
// state begin without one, in round 0; Remeasure has what a study knows besides.
func Measure(ctx context.Context, s Setup, weights []float32, params tuners.Params) (*Errors, error) {
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	foreign := map[string]bool{}
	for name := range params {
		foreign[name] = true
	}
	h, err := s.Config.Hyper().With(params, foreign)
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

// Predict tells what weights predict of every client's examples; see
// fl.Engine.Predict.
func Predict(ctx context.Context, s Setup, weights []float32, splits []fl.Split, each func(fl.Predictions) error) error {
	engine, err := s.engine()
	if err != nil {
		return err
	}
	defer engine.Close()
	return engine.Predict(ctx, weights, splits, each)
}

// evaluation returns how a model after a round of a configuration is measured, with the
// hyperparameters of the personalized model's local training. The method remembers
// memory of the trial. model is that of Evaluated.
func evaluation(c *config.Config, round int, clients []fl.ClientParams, server fl.ServerParams, memory *fl.State, o Observer, model string) fl.EvalConfig {
	if !c.Eval.Personalized {
		clients = nil
	}
	return fl.EvalConfig{Clients: clients, Round: round, Server: &server, State: memory, Sample: c.Eval.Clients, Done: evaluated(o, model)}
}
