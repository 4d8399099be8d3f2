package fl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

// visit keeps a client's training images as its training read them first: with one
// Augment an image is the same in every pass. Crop and jitter of colours take a quarter
// of the time of a step of fedex-cifar-cnn, a copy next to nothing.
type visit struct {
	x      []float32 // by position
	labels []int32
	read   []bool // positions that are there
	begun  bool   // by the client at work
}

// visitBytes bounds the images of a visit; clients with more read them in each pass.
const visitBytes = 8 << 20

// kept returns how many bytes a visit keeps of the images of n examples with the given
// number of floats each, 0 where these are too many.
func kept(n, floats int) int {
	if bytes := 4 * n * floats; bytes <= visitBytes {
		return bytes
	}
	return 0
}

// keepsImages says whether a client's images are kept at all, where they are not too many.
func (c *Config) keepsImages() bool {
	return c.Data.Kind == data.Image && c.Model.TargetsPerExample() == 0
}

// mostKept returns the most bytes of images that a worker keeps of one of the clients.
func (c *Config) mostKept() int {
	most := 0
	if c.keepsImages() {
		for _, client := range slices.Concat(c.Data.Clients, c.Data.Unseen) {
			most = max(most, kept(client.Train.Len(), c.Model.Input().Size()))
		}
	}
	return most
}

// visit returns the memory for the client's images, nil where none are kept: a client
// that passes once over them reads each once.
func (l *Local) visit(p ClientParams) *visit {
	w, n := l.worker, l.Train.Len()
	if p.Examples(n) <= n || kept(n, w.inputs) == 0 || !l.engine.cfg.keepsImages() {
		return nil
	}
	v := &w.visit
	if !v.begun {
		v.begun = true
		v.x, v.labels, v.read = grown(v.x, n*w.inputs), grown(v.labels, n*w.labels), grown(v.read, n)
		clear(v.read)
	}
	return v
}

// fill reads training examples at pos into the worker's batch.
func (v *visit) fill(w *worker, train data.View, pos []int32, aug *data.Augment) error {
	b := &w.batch
	for i, p := range pos {
		x, labels := v.x[int(p)*w.inputs:][:w.inputs], v.labels[int(p)*w.labels:][:w.labels]
		if !v.read[p] {
			if err := train.Fill(pos[i:i+1], x, nil, labels, aug); err != nil {
				return err
			}
			v.read[p] = true
		}
		copy(b.X[i*w.inputs:], x)
		copy(b.Labels[i*w.labels:], labels)
	}
	return nil
}

// Validate scores weights on the validation samples of the clients that have any: with
// EvalConfig.Clients the models that clients train for themselves, without them the weights
// as they are. Without noise, of the same clients it gives the scores that Evaluate calls
// GlobalVal and PersonalizedVal, bit for bit. Of the Summary it fills the Score, Clients and
// Examples.
func (e *Engine) Validate(ctx context.Context, weights []float32, v EvalConfig) (*Summary, error) {
	scores, _, err := e.validate(ctx, weights, v)
	if err != nil {
		return nil, err
	}
	return foldValidated(scores, v.Noise, validateKey(e.cfg.Seed, v)), nil
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
	scores, ids, err := e.validate(ctx, weights, v)
	all := make([]ClientScore, len(scores))
	for i := range scores {
		all[i] = ClientScore{ids[i], scores[i].n, scores[i].Score}
		if !det.Finite(all[i].Loss) {
			all[i].Score = WorstScore(e.cfg.Model.Loss().Numbers())
		}
	}
	return all, err
}

// validateKey keys the draws of EvalConfig.Noise.
func validateKey(seed uint64, v EvalConfig) uint64 {
	return kernels.Key(seed, uint64(v.Trial), uint64(v.Round), purposeValidate)
}

// validate returns the scores of clients and who they are.
func (e *Engine) validate(ctx context.Context, weights []float32, v EvalConfig) ([]setScore, []int, error) {
	plan, err := e.evalPlan(v.Clients, v.Server)
	if err != nil {
		return nil, nil, err
	}
	clients := e.cfg.Data.Clients
	ids := list.Places(len(clients), func(i int) bool { return clients[i].Val.Len() > 0 })
	if ids = validated(e.cfg.Seed, ids, v); len(ids) == 0 {
		return nil, nil, fmt.Errorf("evaluation: none of the %d clients has validation samples", len(e.cfg.Data.Clients))
	}
	measured, err := e.measure(ctx, &shard.Exam{
		Weights: weights, Clients: ids, GlobalVal: v.Clients == nil, PersonalVal: v.Clients != nil,
		Kept: v.Kept, Params: paramsOf(v.Clients, 0, ids), Server: plan.Server, Round: v.Round, Arch: v.Arch,
	}, v.State, e.serverOf(v.State, weights, v.Clients != nil), counted(v.Done, len(ids)))
	if err != nil {
		return nil, nil, err
	}
	scores := make([]setScore, len(ids))
	for i := range measured {
		if scores[i] = measured[i].globalVal; v.Clients != nil {
			scores[i] = measured[i].personalVal
		}
	}
	return scores, ids, nil
}

// validated returns the indices, ascending, of the clients that are scored, of those that
// have validation samples.
func validated(seed uint64, ids []int, v EvalConfig) []int {
	some := func(key uint64, n int) {
		if n == 0 || n >= len(ids) {
			return
		}
		drawn := draw(kernels.NewStream(key, 0), len(ids), n)
		for i, at := range drawn {
			drawn[i] = ids[at]
		}
		slices.Sort(drawn)
		ids = drawn
	}
	some(kernels.Key(seed, purposeValidate), v.Sample)
	some(validateKey(seed, v), v.Noise.Clients)
	return ids
}

// foldValidated is the mean over clients, as RoundResult.Score takes that of a round.
func foldValidated(scores []setScore, o ScoreOptions, key uint64) *Summary {
	v, noise := &Summary{Clients: len(scores)}, NewNoise(key, scoreNoise)
	if o.Noise > 0 {
		errors := list.Made(len(scores), func(i int) float64 { return scores[i].Error })
		v.Score, v.Clients = o.PrivateMean(errors, noise), o.Expected
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
		v.Error += noise.laplace() / (o.Epsilon * float64(v.Clients))
		v.Loss = math.NaN()
	}
	return v
}
