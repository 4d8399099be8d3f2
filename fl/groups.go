package fl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/internal/list"
)

// round is a round at work.
type round struct {
	*Trial
	plan   Plan
	probes probeSet
	slots  []Slot   // of the whole cohort
	left   []*block // states that the slots' clients leave
}

// train trains the whole cohort.
func (r *round) train(ctx context.Context) (*part, error) {
	if len(r.slots) == 0 {
		return r.empty(), nil
	}
	if r.engine.shards() {
		if n := r.engine.cfg.Elsewhere.Shards(r.number, r.round, len(r.slots)); n > 0 {
			return r.trainElsewhere(ctx, n)
		}
	}
	return r.trainHere(shard.Span{Hi: len(r.slots)})
}

// empty returns the sums over no client.
func (r *round) empty() *part {
	a := newAggregate(r.engine.pool, r.sums(), 0)
	a.begin()
	return &a.part
}

// sums says which sums the round has.
func (r *round) sums() sums {
	return sums{extra: r.engine.cfg.Method.Gather != nil, signs: r.probes.signs}
}

// trainHere trains the clients of a span that begins with a group on the engine's
// workers.
func (r *round) trainHere(at shard.Span) (*part, error) {
	e := r.engine
	groups := make([]*aggregate, 0, (at.Hi-at.Lo+shard.Group-1)/shard.Group)
	for lo := at.Lo; lo < at.Hi; lo += shard.Group {
		groups = append(groups, newAggregate(e.pool, r.sums(), min(shard.Group, at.Hi-lo)))
	}
	all := newTree(len(groups), e.pool.returnSums)
	work, err := e.work(r.slots[at.Lo:at.Hi])
	if err != nil {
		return nil, err
	}
	order, number := taskOrder(work)
	r.left = make([]*block, len(r.slots))
	err = e.pool.run(len(order), func(task int, w *worker) error {
		i, group := at.Lo+order[task], order[task]/shard.Group
		var c contribution
		delivered := false
		defer func() { // a panic must not leave the others waiting
			if !delivered {
				c = contribution{delta: w.local}
			}
			var whole *part
			if w.local, whole = groups[group].deliver(number[task], c); whole != nil {
				all.add(group, whole)
			}
		}()
		var err error
		if c, r.left[i], err = r.localTask(w, i, &r.slots[i], r.plan.Server, r.probes); err != nil {
			return err
		}
		if e.cfg.Digests {
			begin := time.Now()
			r.slots[i].digest(e.cfg.Model, c.delta)
			e.Digested(time.Since(begin) / time.Duration(e.cfg.Workers))
		}
		delivered = true
		return nil
	})
	if err != nil {
		all.release()
		for _, b := range r.left {
			e.store.recycle(b)
		}
		return nil, err
	}
	p := all.root
	p.Lo, p.Slots = at.Lo, r.slots[at.Lo:at.Hi]
	return p, nil
}

// work returns how much each slot's training is, in no unit: its examples, times the
// operations for one where clients train networks of their own. The error comes from
// Method.SubnetFLOPs.
func (e *Engine) work(slots []Slot) ([]float64, error) {
	subnetFLOPs := e.cfg.Method.SubnetFLOPs
	work := make([]float64, len(slots))
	for i := range slots {
		work[i] = float64(slots[i].Params.Examples(slots[i].TrainExamples))
		if subnetFLOPs == nil {
			continue
		}
		flops, err := subnetFLOPs(e.setup, slots[i].Params)
		if err != nil {
			return nil, fmt.Errorf("slot %d: %w", i, err)
		}
		work[i] *= flops
	}
	return work, nil
}

// taskOrder takes the work of each slot and returns the slots in the order in which
// their tasks start, and the number of each task in its group, which is its position in
// the chain of the sum. Most work comes first, so that no long task is left for the end,
// but no more groups are begun at a time than a window has. The order depends only on
// the plan, never on the machine.
func taskOrder(work []float64) (order, number []int) {
	begun := make([]int, (len(work)+shard.Group-1)/shard.Group)
	for lo := 0; lo < len(work); lo += windowSlots {
		for _, i := range longestFirst(work[lo:min(lo+windowSlots, len(work))]) {
			group := (lo + i) / shard.Group
			order, number = append(order, lo+i), append(number, begun[group])
			begun[group]++
		}
	}
	return order, number
}

// longestFirst returns the slots by their work, the most first.
func longestFirst(work []float64) []int {
	order := list.Made(len(work), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(work[b], work[a]) })
	return order
}
