package fl

import (
	"context"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/measure"
)

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
