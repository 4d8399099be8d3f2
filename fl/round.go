package fl

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Plan holds the hyperparameters of a round.
type Plan struct {
	// Server is b in Agg_b.
	Server ServerParams
	// Clients holds one c in Loc_c for all slots of the cohort, or one for
	// each.
	Clients []ClientParams
	// Probes names the measurements to take, see ProbeNames; each kind of
	// val_ probe costs an evaluation of every client of the cohort.
	Probes []string
}

// client returns the hyperparameters of a slot.
func (p Plan) client(slot int) ClientParams {
	if len(p.Clients) == 1 {
		return p.Clients[0]
	}
	return p.Clients[slot]
}

// check returns an error that names what is wrong with the plan.
func (p Plan) check(m Method, slots int) error {
	if len(p.Clients) != 1 && len(p.Clients) != slots {
		return fmt.Errorf("plan has %d client configurations: must be 1 or one for each of %d clients", len(p.Clients), slots)
	}
	if err := p.Server.Check(); err != nil {
		return err
	}
	for _, c := range p.Clients {
		if err := c.Check(); err != nil {
			return err
		}
		if err := m.Check(c, p.Server); err != nil {
			return err
		}
	}
	return nil
}

// Slot is one place of a round's cohort: a client and what its local training
// measured.
type Slot struct {
	// Client is the index of the client in the federation.
	Client int
	// Params are the hyperparameters it trained with.
	Params ClientParams
	// Steps and Examples count its local steps and the examples processed.
	Steps, Examples int
	// TrainExamples and ValExamples are the sizes of its sets T_i and V_i.
	TrainExamples, ValExamples int
	// TrainLoss is the mean loss of its steps' batches, in nats.
	TrainLoss float64
	// Before and After score the broadcast and the client's own weights on
	// V_i; NaN where no probe asked for them.
	Before, After Score
	// DeltaNorm is the Euclidean norm of the client's change w - w_i.
	DeltaNorm float64
	// Dropped says that the change held a number that is not finite, so that
	// it was left out of the aggregate.
	Dropped bool
}

// RoundResult is what a round measured.
type RoundResult struct {
	// Round is the round's number, from 0.
	Round int
	// Slots has one entry a place of the cohort, in the order of drawing.
	Slots []Slot
	// TrainLoss is the mean of the slots' training losses, weighted by the
	// number of training examples.
	TrainLoss float64
	// Steps and Examples are sums over the slots.
	Steps, Examples int
	// Dropped counts the slots that were left out of the aggregate.
	Dropped int
}

// cohort draws the clients of the trial's next round.
func (t *Trial) cohort() []int {
	cfg := &t.engine.cfg
	clients := len(cfg.Data.Clients)
	stream := kernels.NewStream(kernels.Key(cfg.Seed, uint64(t.number), uint64(t.round), purposeCohort), 0)
	if cfg.Replacement {
		drawn := make([]int, cfg.Cohort)
		for i := range drawn {
			drawn[i] = stream.IntN(clients)
		}
		return drawn
	}
	return draw(stream, clients, cfg.Cohort)
}

// draw returns k different numbers below n, in the order of drawing: the first
// steps of a Fisher-Yates shuffle.
func draw(stream *kernels.Stream, n, k int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	for i := range k {
		j := i + stream.IntN(n-i)
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids[:k]
}

// Round runs the trial's next round and moves its weights. On an error the
// trial is unchanged, but for a cancelled ctx, which is looked at only before
// the round starts: a round that has begun ends.
func (t *Trial) Round(ctx context.Context, plan Plan) (*RoundResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cfg := &t.engine.cfg
	if err := plan.check(cfg.Method, cfg.Cohort); err != nil {
		return nil, fmt.Errorf("round %d: %w", t.round, err)
	}
	probes, err := parseProbes(plan.Probes)
	if err != nil {
		return nil, err
	}
	result := &RoundResult{Round: t.round, Slots: make([]Slot, cfg.Cohort)}
	for i, client := range t.cohort() {
		c := &cfg.Data.Clients[client]
		result.Slots[i] = Slot{Client: client, Params: plan.client(i), TrainExamples: c.Train.Len(), ValExamples: c.Val.Len()}
	}
	order := longestFirst(result.Slots)
	agg := newAggregate(t.engine.pool)
	defer agg.release()
	err = t.engine.pool.run(len(order), func(task int, w *worker) error {
		i := order[task]
		delivered := false
		defer func() { // a panic must not leave the others waiting
			if !delivered {
				w.local = agg.deliver(task, contribution{delta: w.local})
			}
		}()
		weight := t.localTask(w, i, &result.Slots[i], probes)
		delivered = true
		w.local = agg.deliver(task, contribution{delta: w.local, weight: weight})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("trial %d, round %d: %w", t.number, t.round, err)
	}
	t.server.Step(t.weights, agg.mean(), t.round, plan.Server)
	t.round++
	result.total()
	return result, nil
}

// localTask trains the client of a slot, measures it, and leaves its change in
// w.local. It returns the change's weight in the aggregate.
func (t *Trial) localTask(w *worker, slot int, s *Slot, probes probeSet) (weight float64) {
	e := t.engine
	client := &e.cfg.Data.Clients[s.Client]
	key := kernels.Key(e.cfg.Seed, uint64(t.number), uint64(t.round), uint64(slot), uint64(s.Client))
	aug := &data.Augment{Key: kernels.Key(key, purposeAugment)}
	s.Before, s.After = Score{math.NaN(), math.NaN()}, Score{math.NaN(), math.NaN()}
	if probes.before {
		s.Before = scoreOf(w.evaluate(t.weights, client.Val, aug))
	}
	l := w.train(e.cfg.Method, client, s.Params, t.weights, key)
	if probes.after {
		s.After = scoreOf(w.evaluate(w.local, client.Val, aug))
	}
	s.Steps, s.Examples = l.Steps, l.Examples
	s.TrainLoss = scoreOf(nn.Result{Loss: l.Loss, Count: l.Labels}).Loss
	s.DeltaNorm = delta(t.weights, w.local)
	if !finite(s.DeltaNorm) {
		s.Dropped = true
		return 0
	}
	return float64(s.TrainExamples)
}

// longestFirst returns the slots in the order in which their tasks start and
// their results are summed: most work first, so that no long task is left for
// the end. It depends only on the plan, never on the machine.
func longestFirst(slots []Slot) []int {
	order := make([]int, len(slots))
	for i := range order {
		order[i] = i
	}
	work := func(i int) int { return slots[i].Params.examples(slots[i].TrainExamples) }
	slices.SortStableFunc(order, func(a, b int) int { return work(b) - work(a) })
	return order
}

// total fills the sums over the slots.
func (r *RoundResult) total() {
	var loss, weight float64
	for i := range r.Slots {
		s := &r.Slots[i]
		r.Steps += s.Steps
		r.Examples += s.Examples
		if s.Dropped {
			r.Dropped++
		}
		n := float64(s.TrainExamples)
		loss += float64(s.TrainLoss * n)
		weight += n
	}
	r.TrainLoss = loss / weight
}

// ValScore returns the mean score of the round on the clients' validation
// examples, weighted by their number: of the clients' own weights when
// personalized, else of the broadcast ones. Clients without validation
// examples do not count; without any such client the score is NaN.
func (r *RoundResult) ValScore(personalized bool) Score {
	var sum Score
	var weight float64
	for i := range r.Slots {
		s := &r.Slots[i]
		score := s.Before
		if personalized {
			score = s.After
		}
		n := float64(s.ValExamples)
		if n == 0 {
			continue
		}
		sum.Error += float64(score.Error * n)
		sum.Loss += float64(score.Loss * n)
		weight += n
	}
	return Score{Error: sum.Error / weight, Loss: sum.Loss / weight}
}
