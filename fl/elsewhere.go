package fl

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Elsewhere has parts of rounds and of evaluations done by other engines, such as
// those of other machines, which have the same model, method, data and settings. What
// comes of it has the same bits. Its methods are called from several goroutines.
type Elsewhere interface {
	// Parts says into how many parts the clients of a round of a trial are to be cut;
	// 0 has them trained by this engine.
	Parts(trial, round, clients int) int
	// Train has a part of a round trained, as Engine.Train does.
	Train(ctx context.Context, p Portion) (*Part, error)
	// Exams says into how many parts so many clients that measure a model are to be
	// cut; 0 has this engine measure it.
	Exams(clients int) int
	// Measure has clients measure a model, as Engine.Measure does.
	Measure(ctx context.Context, x Exam) (*Scores, error)
}

// Portion is a part of a round that any engine of its study can train.
type Portion struct {
	// Trial is the trial's number, Round how many rounds it has run.
	Trial, Round int
	// Weights are those that the server sends; read-only.
	Weights []float32
	// Plan is the whole round's.
	Plan Plan
	// Span are the slots to train, one of those that Cut returns.
	Span Span
}

// CheckShards returns an error that says why the rounds of a method, with hyperparameters
// of clients, cannot be trained in parts elsewhere.
func CheckShards(m Method, c ClientParams) error {
	cfg := Config{Method: m, KeepOptimizer: c.Keeps()}
	if cfg.keeps() {
		return fmt.Errorf("%s a state for each client, which would have to follow it from worker to worker: its rounds are trained whole", cfg.keeper())
	}
	if m.NewSender != nil {
		return fmt.Errorf("the server of method %q makes each client's weights of what it has learned, which would have to go to every worker: its rounds are trained whole", m.Name)
	}
	return nil
}

// shards says whether rounds can be trained elsewhere in parts.
func (e *Engine) shards() bool {
	return e.cfg.Elsewhere != nil && !e.looks()
}

// Train trains a part of a round.
func (e *Engine) Train(ctx context.Context, p Portion) (*Part, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := p.Span
	switch {
	case e.looks():
		return nil, errors.New("a part of a round: its method has rounds trained whole, or its clients keep a state")
	case len(p.Weights) != e.cfg.Model.Size():
		return nil, fmt.Errorf("a part of a round: %d weights arrived, model %s has %d", len(p.Weights), e.cfg.Model.Name(), e.cfg.Model.Size())
	case s.Lo < 0 || s.Lo%groupSlots != 0 || s.Hi <= s.Lo || s.Hi > e.cfg.Cohort:
		return nil, fmt.Errorf("a part of a round: the slots %d to %d are none of a cohort of %d", s.Lo, s.Hi, e.cfg.Cohort)
	}
	r := &round{Trial: &Trial{engine: e, number: p.Trial, round: p.Round, weights: p.Weights}, plan: p.Plan.filled(e.cfg.Method)}
	err := r.plan.check(&e.cfg, e.cfg.Cohort)
	if err == nil {
		r.probes, err = parseProbes(p.Plan.Probes)
	}
	if err == nil {
		r.slots, err = r.Trial.slots(r.plan)
	}
	if err != nil {
		return nil, fmt.Errorf("trial %d, round %d: %w", p.Trial, p.Round, err)
	}
	return r.trainHere(s)
}

// Release gives the memory of a part back to the engine that trained it.
func (e *Engine) Release(p *Part) { e.pool.returnSums(p) }

// trainElsewhere trains the whole cohort in parts.
func (r *round) trainElsewhere(ctx context.Context, n int) (*Part, error) {
	e := r.engine
	spans := Cut(len(r.slots), n)
	all := newTree(len(spans), func(*Part) {})
	g, ctx := errgroup.WithContext(ctx)
	for leaf, span := range spans {
		g.Go(func() error {
			p, err := e.cfg.Elsewhere.Train(ctx, Portion{Trial: r.number, Round: r.round, Weights: r.weights, Plan: r.plan, Span: span})
			if err != nil {
				return err
			}
			if err := r.fits(p, span); err != nil {
				return err
			}
			for i, s := range p.Slots {
				s.Client, s.Params = r.slots[span.Lo+i].Client, r.slots[span.Lo+i].Params
				r.slots[span.Lo+i] = s
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
