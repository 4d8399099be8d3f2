package fl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/fedfast/fedfast/fl/internal/shard"
)

// CheckShards returns an error that says why rounds of the method, with hyperparameters of
// clients, cannot be split into shards that other engines train.
func (m Method) CheckShards(c ClientParams, u Updates) error {
	cfg := Config{Method: m, KeepOptimizer: c.Keeps(), Updates: u}
	if cfg.keeps() {
		return fmt.Errorf("%s a state for each client, which would have to follow it from worker to worker: its rounds are trained whole", cfg.keeper())
	}
	if m.NewSender != nil {
		return fmt.Errorf("the server of method %q makes each client's weights of what it has learned, which would have to go to every worker: its rounds are trained whole", m.Name)
	}
	return nil
}

// shards says whether rounds can be trained elsewhere in shards.
func (e *Engine) shards() bool {
	return e.cfg.Elsewhere != nil && !e.looks() && e.fleet == nil && e.cfg.Sampler.Kind == ""
}

// Train trains a shard of a round and writes what its clients came to together, for
// another engine to read.
func (e *Engine) Train(ctx context.Context, s shard.Round, w io.Writer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case e.looks():
		return errors.New("a shard of a round: its method has rounds trained whole, or its clients keep a state")
	case len(s.Weights) != e.cfg.Model.Size():
		return fmt.Errorf("a shard of a round: %d weights arrived, model %s has %d", len(s.Weights), e.cfg.Model.Name(), e.cfg.Model.Size())
	case s.Lo < 0 || s.Lo%shard.Group != 0 || s.Hi <= s.Lo || s.Hi > e.cfg.mostCohort():
		return fmt.Errorf("a shard of a round: slots [%d,%d) out of range for a cohort of %d in groups of %d", s.Lo, s.Hi, e.cfg.mostCohort(), shard.Group)
	}
	p, err := e.trainShard(ctx, &s)
	if err != nil {
		return err
	}
	defer e.pool.returnSums(p)
	return p.writeTo(w)
}

// trainShard trains a shard on this engine's workers.
func (e *Engine) trainShard(ctx context.Context, s *shard.Round) (*part, error) {
	r := &round{Trial: &Trial{engine: e, number: s.Trial, round: s.Round, weights: s.Weights, clip: []float32{s.Clip}}, plan: Plan(s.Plan).filled(&e.cfg)}
	r.time = r.plan.Time
	err := errors.Join(r.plan.check(&e.cfg, e.cfg.Cohort), r.planUpdates(&r.plan))
	if err == nil {
		r.probes, err = parseProbes(s.Plan.Probes)
	}
	if err == nil {
		r.slots, err = r.Trial.slots(ctx, r.plan)
	}
	if err != nil {
		return nil, fmt.Errorf("trial %d, round %d: %w", s.Trial, s.Round, err)
	}
	if s.Hi > len(r.slots) {
		return nil, fmt.Errorf("trial %d, round %d: slots [%d,%d) out of range for a cohort of %d", s.Trial, s.Round, s.Lo, s.Hi, len(r.slots))
	}
	r.hold(len(r.slots))
	p, err := r.trainHere(shard.Span{Lo: s.Lo, Hi: s.Hi})
	if err == nil && e.holding {
		p.Rows, p.RowWeights = r.held.rows[s.Lo:s.Hi], r.held.weights[s.Lo:s.Hi]
	}
	return p, err
}

// trainElsewhere trains the whole cohort in shards.
func (r *round) trainElsewhere(ctx context.Context, n int) (*part, error) {
	e := r.engine
	spans := shard.Split(len(r.slots), n)
	all := newTree(len(spans), func(*part) {})
	g, ctx := errgroup.WithContext(ctx)
	for leaf, at := range spans {
		g.Go(func() error {
			var p *part
			s := shard.Round{Trial: r.number, Round: r.round, Weights: r.weights, Plan: shard.Plan(r.plan), Clip: float32(r.Clip()), Lo: at.Lo, Hi: at.Hi}
			err := e.cfg.Elsewhere.Train(ctx, s, func(from io.Reader) (err error) {
				if p, err = readPart(from); err == nil {
					err = r.fits(p, at)
				}
				return err
			})
			if err == nil && p == nil {
				err = r.fits(p, at)
			}
			if err != nil {
				return err
			}
			for i, s := range p.Slots {
				s.Client, s.Params = r.slots[at.Lo+i].Client, r.slots[at.Lo+i].Params
				r.slots[at.Lo+i] = s
			}
			if e.holding {
				copy(r.held.rows[at.Lo:], p.Rows)
				copy(r.held.weights[at.Lo:], p.RowWeights)
			}
			all.add(leaf, p)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	r.left = make([]*block, len(r.slots))
	return all.root, nil
}
