package fl

import (
	"context"
	"errors"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// aloneStops is how often a model that is trained alone is measured on the way.
const aloneStops = 10

// alone trains a client by itself, see EvalConfig.Alone. It returns the model with its validation score.
func (e *Engine) alone(w *worker, x *shard.Exam, client int, params ClientParams) (*Local, setScore, error) {
	var l *Local
	var lowest setScore
	steps := x.Alone * float64(params.LocalSteps(e.client(client).Train.Len()))
	if !(steps <= shard.MostCount) {
		return nil, lowest, errors.New("evaluation: too many local steps of a client alone")
	}
	stops := int(max(1, min(steps, aloneStops)))
	params.Steps, lowest.Loss = int(max(1, math.Ceil(steps/float64(stops)))), math.Inf(1)
	from, best := w.vector(0), w.vector(1)
	copy(from, x.Weights)
	for stop := range stops {
		var err error
		l, err = w.begin(localTask{
			engine: e, client: client, params: params, server: x.Server, round: stop * x.Round / stops, weights: from,
			key: kernels.Key(e.cfg.Seed, uint64(client), uint64(stop), purposeAlone),
		})
		if err != nil {
			return nil, lowest, err
		}
		if err := l.SGD(LocalRun{Afresh: true}); err != nil {
			return nil, lowest, err
		}
		l.hold()
		copy(from, l.Weights)
		v, err := l.scoreSet(l.Val, nil)
		if err != nil {
			return nil, lowest, err
		}
		if v.n == 0 || v.Loss < lowest.Loss {
			lowest = v
			copy(best, from)
		}
	}
	copy(l.Weights, best)
	return l, lowest, nil
}

// Pooled trains client 0 alone from weights, as EvalConfig.Alone describes, with each of some hyperparameters,
// and returns the models with the lowest validation losses on the way and their validation scores.
func (e *Engine) Pooled(
	ctx context.Context, weights []float32, params []ClientParams, times float64, rounds int,
) ([][]float32, []Score, error) {
	models, scores := make([][]float32, len(params)), make([]Score, len(params))
	x := &shard.Exam{Weights: weights, Server: *e.cfg.Server, Alone: times, Round: rounds}
	err := e.each(ctx, len(params), func(i int, w *worker) error {
		l, v, err := e.alone(w, x, 0, params[i])
		if err == nil {
			models[i], scores[i] = append(models[i], l.Weights...), v.Score
		}
		return err
	})
	return models, scores, err
}

// centralPart is how many examples of a federation's own test set, which is of no
// client, are measured as one task.
const centralPart = 128

// centralParts cuts the federation's own test set, as if each part were a client's.
func (e *Engine) centralParts() []data.Client {
	v := e.cfg.Data.Test
	var parts []data.Client
	for at := 0; at < v.Len(); at += centralPart {
		parts = append(parts, data.Client{Test: v.Part(at, min(at+centralPart, v.Len()))})
	}
	return parts
}

// evaluateCentral measures weights on the federation's own test set; val are answers about validation samples.
func (e *Engine) evaluateCentral(
	ctx context.Context, weights []float32, every int, val []measure.Answers,
) (Summary, error) {
	parts := list.Made(len(e.centralParts()), func(i int) int { return i })
	scores, err := e.measure(ctx, &shard.Exam{Weights: weights, Clients: parts, Central: true, Every: every, GlobalTest: true}, nil, nil, func(int) {})
	if err != nil {
		return Summary{}, err
	}
	of := func(c *clientScores) setScore { return c.globalTest }
	s := e.fold(scores, of)
	if s.answers = nil; every > 0 {
		s.Measures = measure.Of(answersOf(scores, of), val, every, true)
	}
	s.Central, s.Clients = true, 1
	s.Unweighted, s.P10, s.P50, s.P90 = s.Error, s.Error, s.Error, s.Error
	return s, nil
}
