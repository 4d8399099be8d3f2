package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// round runs one round of a trial under a client tuner.
func (s *Study) round(ctx context.Context, c *session, t *Trial) error {
	d, err := c.tuner.Describe(ctx)
	if err != nil {
		return err
	}
	cohort := cmp.Or(s.Slots, 4)
	slots := cohort
	jobs := d.Jobs && t.Number%2 == 1 && !slices.Contains(d.Scalars, tuners.ScalarClientKey)
	if jobs { // the server takes half a cohort of updates in each step
		slots = max(1, cohort-len(t.working)+cohort/2-1)
	}
	var keys []uint64
	if slices.Contains(d.Scalars, tuners.ScalarClientKey) {
		keys = cohortOf(t.Rounds, slots)
	}
	if s.Tests && t.Rounds%2 == 1 {
		before := string(c.State())
		if _, err := c.PlanRound(ctx, tuners.PlanRequest{Trial: t.Number, Round: t.Rounds, Slots: slots, Purpose: tuners.Test, ClientKeys: keys}); err != nil {
			return fmt.Errorf("plan of an evaluation: %w", err)
		}
		if string(c.State()) != before {
			return errors.New("planning an evaluation changed the state")
		}
	}
	var plan tuners.Plan
	if err := c.call(ctx, func() (err error) {
		plan, err = c.PlanRound(ctx, tuners.PlanRequest{Trial: t.Number, Round: t.Rounds, Slots: slots, ClientKeys: keys})
		return err
	}); err != nil {
		return err
	}
	c.out.Said = append(c.out.Said, fmt.Sprintf("trial %d, round %d: %s", t.Number, t.Rounds, describePlan(plan)))
	var names []string
	if p, ok := c.Session.(tuners.Prober); ok {
		names = p.Probes()
	}
	names = append(slices.Clone(names), d.Scalars...)
	if s.Probes != nil {
		if err := s.Probes(names...); err != nil {
			return fmt.Errorf("no study provides what the tuner requests: %w", err)
		}
	}
	o := tuners.Observation{Trial: t.Number, Round: t.Rounds, Aggregates: map[string]float64{}}
	took := make([]work, slots)
	for slot := range took {
		params := t.Params.Merge(plan.Server)
		if len(plan.Table) > 0 {
			params = params.Merge(plan.Table[slot%len(plan.Table)].Params)
		} else {
			params = params.Merge(plan.Client(slot))
		}
		took[slot].score = s.Surface.Score(params, t.Rounds+1)
		took[slot].job = &tuners.Job{Round: t.Rounds, Slot: min(slot, max(0, len(plan.Clients)-1))}
	}
	if jobs {
		took, o.Oldest = t.step(took, max(1, cohort/2))
		slots = len(took)
	}
	t.Score = 0
	for slot, w := range took {
		score := w.score
		t.Score += score / float64(slots)
		seen := map[string]float64{}
		for _, name := range names {
			seen[name] = probe(name, score, slot)
			if name == tuners.ScalarClientKey {
				seen[name] = float64(keys[slot])
			}
			o.Aggregates[name] += seen[name] / float64(slots)
		}
		o.Slots = append(o.Slots, tuners.Slot{Probes: seen})
		if !jobs {
			continue
		}
		if o.Slots[slot].Job = w.job; w.job.Fate != "" {
			o.Slots[slot].Probes, o.Slots[slot].Dropped = nil, true
		}
	}
	t.Rounds++
	return c.call(ctx, func() error { return c.ObserveRound(ctx, o) })
}

// work is the job of a client, and the score that it has.
type work struct {
	job   *tuners.Job
	score float64
}

// step adds jobs that begin to those at work, and has some end, the last ones of them first,
// of which one in five is lost. It returns them and the first round with jobs at work.
func (t *Trial) step(begin []work, ends int) (took []work, oldest int) {
	t.working = append(t.working, begin...)
	for i := range min(ends, len(t.working)) {
		last := len(t.working) - 1
		if (t.Rounds+i)%3 == 0 {
			last = 0 // a slow one
		}
		w := t.working[last]
		t.working = slices.Delete(t.working, last, last+1)
		w.job.Staleness = t.Rounds - w.job.Round
		w.job.Weight = 1 / float64(1+w.job.Staleness)
		if (t.Rounds+i)%5 == 4 && i > 0 {
			w.job.Fate = "vanished"
		}
		took = append(took, w)
	}
	oldest = t.Rounds + 1
	for _, w := range t.working {
		oldest = min(oldest, w.job.Round)
	}
	return took, oldest
}

// cohortOf returns the clients of a round's slots: one comes in every round, each time
// in another slot, the others are new or come again at times.
func cohortOf(round, slots int) []uint64 {
	keys := list.Made(slots, func(i int) uint64 { return uint64(1 + (round*slots+i)%(3*slots+1)) })
	keys[round%slots] = 0
	return keys
}

// probe makes a value of a probe or scalar up, in the range of its name.
func probe(name string, score float64, slot int) float64 {
	switch {
	case strings.Contains(name, "cos"):
		h := fnv.New32a()
		fmt.Fprint(h, name, score, slot)
		return float64(h.Sum32())/(1<<31) - 1
	case strings.HasPrefix(name, "examples") || name == "steps":
		return float64(10 + slot)
	case strings.HasSuffix(name, "before"):
		return min(1, 1.1*score)
	}
	return score
}
