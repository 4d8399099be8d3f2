package fl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// Validate scores weights on the validation samples of the clients that have any: with
// EvalConfig.Clients the models that clients train for themselves, without them the weights
// as they are. Without noise, of the same clients it gives the scores that Evaluate calls
// GlobalVal and PersonalizedVal, bit for bit. Of the Summary it fills the Score, Clients and
// Examples.
func (e *Engine) Validate(ctx context.Context, weights []float32, v EvalConfig) (*Summary, error) {
	scores, _, stream, err := e.validate(ctx, weights, v)
	if err != nil {
		return nil, err
	}
	return foldValidated(scores, v.Noise, stream), nil
}

// ClientScore is what a client's validation samples measured.
type ClientScore struct {
	// Client is its index in the federation, Samples the number of its validation samples.
	Client, Samples int
	Score
}

// ValidateClients returns the scores of the single clients behind Validate, in their order. One
// whose loss is not finite is the worst that there is, as that of a dropped client.
// EvalConfig.Noise must have no noise.
func (e *Engine) ValidateClients(ctx context.Context, weights []float32, v EvalConfig) ([]ClientScore, error) {
	if v.Noise.Noise > 0 || v.Noise.Epsilon > 0 {
		return nil, errors.New("evaluation: noise is for Validate")
	}
	scores, ids, _, err := e.validate(ctx, weights, v)
	all := make([]ClientScore, len(scores))
	for i := range scores {
		all[i] = ClientScore{ids[i], scores[i].n, scores[i].Score}
		if !det.Finite(all[i].Loss) {
			all[i].Score = worstScore(e.cfg.Model.Loss().Numbers())
		}
	}
	return all, err
}

// validate returns the scores of clients, who they are, and the stream of Noise.
func (e *Engine) validate(ctx context.Context, weights []float32, v EvalConfig) ([]setScore, []int, *kernels.Stream, error) {
	plan, err := e.evalPlan(v.Clients, v.Server)
	if err != nil {
		return nil, nil, nil, err
	}
	stream := kernels.NewStream(kernels.Key(e.cfg.Seed, uint64(v.Trial), uint64(v.Round), purposeValidate), 0)
	var ids []int
	for i := range e.cfg.Data.Clients {
		if e.cfg.Data.Clients[i].Val.Len() > 0 {
			ids = append(ids, i)
		}
	}
	if ids = validated(e.cfg.Seed, ids, v, stream); len(ids) == 0 {
		return nil, nil, nil, fmt.Errorf("evaluation: none of the %d clients has validation samples", len(e.cfg.Data.Clients))
	}
	measured, err := e.measure(ctx, &shard.Exam{
		Weights: weights, Clients: ids, GlobalVal: v.Clients == nil, PersonalVal: v.Clients != nil,
		Kept: v.Kept, Params: paramsOf(v.Clients, 0, ids), Server: plan.Server, Round: v.Round, Arch: v.Arch,
	}, v.State, e.serverOf(v.State, weights, v.Clients != nil), counted(v.Done, len(ids)))
	if err != nil {
		return nil, nil, nil, err
	}
	scores := make([]setScore, len(ids))
	for i := range measured {
		if scores[i] = measured[i].globalVal; v.Clients != nil {
			scores[i] = measured[i].personalVal
		}
	}
	return scores, ids, stream, nil
}

// validated returns the indices, ascending, of the clients that are scored, of those that
// have validation samples.
func validated(seed uint64, ids []int, v EvalConfig, stream *kernels.Stream) []int {
	some := func(stream *kernels.Stream, n int) {
		if n == 0 || n >= len(ids) {
			return
		}
		drawn := draw(stream, len(ids), n)
		for i, at := range drawn {
			drawn[i] = ids[at]
		}
		slices.Sort(drawn)
		ids = drawn
	}
	some(kernels.NewStream(kernels.Key(seed, purposeValidate), 0), v.Sample)
	some(stream, v.Noise.Clients)
	return ids
}

// foldValidated is the mean over clients, as RoundResult.Score takes that of a round.
func foldValidated(scores []setScore, o ScoreOptions, stream *kernels.Stream) *Summary {
	v := &Summary{Clients: len(scores)}
	if o.Noise > 0 {
		errors := make([]float64, len(scores))
		for i := range scores {
			errors[i] = scores[i].Error
		}
		v.Score, v.Clients = o.PrivateMean(errors, stream), o.Expected
		return v
	}
	var all scoreMean
	for i := range scores {
		s := &scores[i]
		n := float64(s.n)
		if o.Uniform {
			n = 1
		}
		all.add(s.Score, n)
		v.Examples += s.n
	}
	v.Score = all.mean()
	if o.Epsilon > 0 {
		v.Error += laplace(stream) / (o.Epsilon * float64(v.Clients))
		v.Loss = math.NaN()
	}
	return v
}
