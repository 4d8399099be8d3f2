package fl

import (
	"context"
	"slices"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/kernels"
)

// EvaluateTest measures weights as they are on the test examples of the clients
// with the given indices, or on the federation's own test set if it has one, and
// nothing else. Of the same clients it gives what Evaluate calls GlobalTest, bit for
// bit.
func (e *Engine) EvaluateTest(ctx context.Context, weights []float32, clients []int) (Summary, error) {
	if e.cfg.Data.Test.Len() > 0 {
		return e.evaluateCentral(ctx, weights)
	}
	scores, err := e.measure(ctx, &shard.Exam{Weights: weights, Clients: clients, GlobalTest: true}, nil, nil, func(int) {})
	if err != nil {
		return Summary{}, err
	}
	return e.fold(scores, func(c *clientScores) setScore { return c.globalTest }), nil
}

// EvaluateVal is EvaluateTest on the clients' validation examples.
func (e *Engine) EvaluateVal(ctx context.Context, weights []float32, clients []int) (Summary, error) {
	scores, err := e.measure(ctx, &shard.Exam{Weights: weights, Clients: clients, GlobalVal: true}, nil, nil, func(int) {})
	if err != nil {
		return Summary{}, err
	}
	return e.fold(scores, func(c *clientScores) setScore { return c.globalVal }), nil
}

// EvalSample returns the indices, ascending, of the clients that Evaluate measures
// with EvalConfig.Sample.
func (e *Engine) EvalSample(sample int) []int { return e.evalSample(len(e.cfg.Data.Clients), sample) }

// evalSample returns the clients of n on which models are measured, ascending.
func (e *Engine) evalSample(n, sample int) []int {
	if sample <= 0 || sample >= n {
		sample = n
	}
	ids := draw(kernels.NewStream(kernels.Key(e.cfg.Seed, uint64(n), purposeSample), 0), n, sample)
	slices.Sort(ids)
	return ids
}

// DrawTested returns the indices, ascending, of n clients that have test examples,
// or of all such clients if there are fewer. They are drawn anew for each round, by
// the seed and its number alone: for every trial and every model the same.
func (e *Engine) DrawTested(n, round int) []int {
	var tested []int
	for i, c := range e.cfg.Data.Clients {
		if c.Test.Len() > 0 {
			tested = append(tested, i)
		}
	}
	drawn := draw(kernels.NewStream(kernels.Key(e.cfg.Seed, uint64(round), purposeTested), 0), len(tested), min(n, len(tested)))
	for i, at := range drawn {
		drawn[i] = tested[at]
	}
	slices.Sort(drawn)
	return drawn
}
