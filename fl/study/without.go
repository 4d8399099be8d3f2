package study

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// checkBaselines returns an error for baselines that mean nothing on a study's model or data.
func checkBaselines(s *Setup) error {
	problem := ""
	switch all := s.Config.Eval.Baselines; {
	case len(all) == 0:
		return nil
	case len(s.Model.Choices()) > 0:
		problem = ": the model is a supernet, of which each client trains a part; leave them out"
	case !clientsTest(s.Data):
		problem = ": no client has test samples for the comparison; set data.split so that they do"
	case s.Data.Lazy && slices.Contains(all, config.BaselinePooled):
		problem = ": the data are read from their file client by client, so that samples cannot be pooled; leave pooled out"
	default:
		return nil
	}
	return &key.Error{Key: "eval.baselines", Problem: problem}
}

// foreign are the names in params, which client tuners may bring that are no hyperparameters.
func foreign(params tuners.Params) map[string]bool {
	all := map[string]bool{}
	for name := range params {
		all[name] = true
	}
	return all
}

// settings are hyperparameters with which baselines are trained, see record.Alone.
type settings struct {
	name   string
	client fl.ClientParams
	params tuners.Params
}

// withoutTuned compares the returned model of a tuned study with models without federation, which are trained with its
// values and with the configured ones.
func (d *driver) withoutTuned(ctx context.Context, r *result.Result) (err error) {
	own := d.study.Hyper.Base
	tuned, err := own.With(r.Best.Params, foreign(r.Best.Params))
	if err != nil {
		return err
	}
	all := []settings{{"tuned", tuned.Client, r.Best.Params}}
	if own.Client != tuned.Client && d.study.Hyper.Method.CheckParams(own.Client, own.Server) == nil {
		all = append(all, settings{"file", own.Client, d.space.Active(d.setup.Config.Own(d.space))})
	}
	r.Without, err = d.without(ctx, r.Evaluation, r.Best.Number, r.Best.Round, all)
	return err
}

// without compares the model of an evaluation, which a trial had after some rounds, with models without federation that
// are trained with as many samples and from the same weights. What is recorded of them is not trained again.
func (d *driver) without(
	ctx context.Context, e *fl.Evaluation, number, rounds int, all []settings,
) ([]result.Comparand, error) {
	c, weights := &d.setup.Config, d.engine.NewTrial(number).Weights()
	clients := len(d.setup.Data.Clients)
	times := float64(max(1, rounds)) * float64(c.Updates()) / float64(clients)
	for _, name := range c.Eval.Baselines {
		left := slices.DeleteFunc(slices.Clone(all), func(s settings) bool {
			done := func(a *record.Alone) bool { return a.Name == name && a.Settings == s.name }
			return slices.ContainsFunc(d.past.Alone, done)
		})
		var models [][]float32
		var vals []fl.Score
		if name == config.BaselinePooled && len(left) > 0 {
			var err error
			if models, vals, err = d.pooled(ctx, weights, left, times, rounds); err != nil {
				return nil, err
			}
		}
		for i, s := range left {
			v := fl.EvalConfig{Sample: c.Eval.Clients, Measures: true, Done: evaluated(d.setup.Observer, name+" baseline")}
			from := weights
			if name == config.BaselineLocal {
				v.Clients, v.Server, v.Alone, v.Round = []fl.ClientParams{s.client}, &c.Server, times, rounds
			} else {
				from = models[i]
			}
			got, err := d.engine.Evaluate(ctx, from, v)
			if err != nil {
				return nil, d.crashed(err)
			}
			rec := &record.Alone{Name: name, Settings: s.name, Params: s.params, Clients: record.ClientsOf(got.Clients)}
			if rec.Val, rec.Test = record.Real(got.PersonalizedVal.Loss), got.PersonalizedTest; name != config.BaselineLocal {
				rec.Val, rec.Test = record.Real(vals[i].Loss), got.GlobalTest
			}
			if err := errors.Join(d.past.Append(store.KindAlone, tuners.StudySession, 0, rec), d.past.Flush()); err != nil {
				return nil, err
			}
			d.past.Alone = append(d.past.Alone, rec)
		}
	}
	return result.Without(e, d.past.Alone), nil
}

// pooled trains the models of config.BaselinePooled on the samples of all clients, one with each of some settings.
func (d *driver) pooled(
	ctx context.Context, weights []float32, all []settings, times float64, rounds int,
) ([][]float32, []fl.Score, error) {
	fed, err := d.setup.Data.Pooled()
	if err != nil {
		return nil, nil, err
	}
	method, err := fl.MethodByName("fedavg") // of which only the local steps are taken
	if err != nil {
		return nil, nil, err
	}
	var params []fl.ClientParams
	for _, s := range all {
		if s.client.Steps > shard.MostCount/len(d.setup.Data.Clients) {
			return nil, nil, fmt.Errorf("client.steps = %d: too many for the baseline pooled", s.client.Steps)
		}
		s.client.Steps *= len(d.setup.Data.Clients) // those of all
		params = append(params, s.client)
	}
	c := &d.setup.Config
	engine, err := fl.New(fl.Config{
		Model: d.setup.Model, Data: fed, Method: method, Cohort: 1, Seed: c.Seed, Workers: d.setup.Workers,
		Batch: c.LargestBatch(), Adam: c.MayAdapt(), Momentum: c.MayHaveMomentum(),
	})
	if err != nil {
		return nil, nil, err
	}
	defer engine.Close()
	models, vals, err := engine.Pooled(ctx, weights, params, times, rounds)
	return models, vals, d.crashed(err)
}
