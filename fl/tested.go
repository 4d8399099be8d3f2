package fl

import (
	"context"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// EvaluateSplit measures a model on the samples of one split, "val" or "test", of the
// clients with the given indices, and nothing else: with EvalConfig.Clients the personalized
// models, without them the weights as they are. The test samples of these are the samples of the
// federation's own test set if it has one. Of the same clients it gives what Evaluate calls
// GlobalVal, GlobalTest, PersonalizedVal or PersonalizedTest, bit for bit; with
// EvalConfig.Unseen, which takes no clients but EvalConfig.Sample, on test samples Unseen or UnseenAdapted.
func (e *Engine) EvaluateSplit(ctx context.Context, weights []float32, split string, clients []int, v EvalConfig) (Summary, error) {
	plan, err := e.evalPlan(v.Clients, v.Server)
	if err != nil {
		return Summary{}, err
	}
	x := shard.Exam{Weights: weights, Clients: clients, Kept: v.Kept, Params: paramsOf(v.Clients, 0, clients), Server: plan.Server, Round: v.Round}
	if v.Unseen {
		x.Unseen, x.Clients = true, e.evalSample(len(e.cfg.Data.Unseen), v.Sample)
		x.Params = paramsOf(v.Clients, len(e.cfg.Data.Clients), x.Clients)
	}
	personal := v.Clients != nil
	var of func(c *clientScores) setScore
	switch {
	case split == "val" && personal:
		x.PersonalVal, of = true, func(c *clientScores) setScore { return c.personalVal }
	case split == "val":
		x.GlobalVal, of = true, func(c *clientScores) setScore { return c.globalVal }
	case split != "test":
		return Summary{}, fmt.Errorf("evaluation: unknown split %q: must be val or test", split)
	case personal:
		x.PersonalTest, of = true, func(c *clientScores) setScore { return c.personalTest }
	case e.cfg.Data.Test.Len() > 0 && !v.Unseen:
		return e.evaluateCentral(ctx, weights, 0, nil)
	default:
		x.GlobalTest, of = true, func(c *clientScores) setScore { return c.globalTest }
	}
	scores, err := e.measure(ctx, &x, v.State, e.serverOf(v.State, weights, personal), func(int) {})
	if err != nil {
		return Summary{}, err
	}
	return e.fold(scores, of), nil
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
	clients := e.cfg.Data.Clients
	tested := list.Places(len(clients), func(i int) bool { return clients[i].Test.Len() > 0 })
	drawn := draw(kernels.NewStream(kernels.Key(e.cfg.Seed, uint64(round), purposeTested), 0), len(tested), min(n, len(tested)))
	for i, at := range drawn {
		drawn[i] = tested[at]
	}
	slices.Sort(drawn)
	return drawn
}
