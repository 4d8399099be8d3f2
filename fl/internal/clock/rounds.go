package clock

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
)

// maxJumps bounds how often in a row the clock goes on to a time at which a client may
// have come, and none has.
const maxJumps = 100_000

// nextRound runs rounds until one has enough updates.
func (s *Schedule) nextRound(ctx context.Context, work Work) error {
	for s.step.Failed = 0; ; s.step.Failed++ {
		if s.step.Failed > s.cfg.MaxFailed {
			return fmt.Errorf("%w: %d rounds had fewer updates than the minimum of %d; raise time.deadline or time.overselect, or make jobs fail less often", ErrFailing, s.step.Failed, s.cfg.MinUpdates)
		}
		if err := s.drawCohort(ctx, work); err != nil {
			return err
		}
		enough := s.endRound()
		if s.chooser != nil {
			for i := range s.drawn {
				s.rest(&s.drawn[i])
			}
		}
		if enough {
			return nil
		}
	}
}

// drawCohort has the clients of a round begin.
func (s *Schedule) drawCohort(ctx context.Context, work Work) error {
	least := min(s.cfg.MinUpdates, s.cfg.Drawn, s.cfg.Clients)
	for jumps := 0; jumps < maxJumps; jumps++ {
		s.drawn = s.drawn[:0]
		change, err := s.drawThere(ctx, least)
		if err != nil {
			return err
		}
		if len(s.drawn) >= least {
			for i := range s.drawn {
				s.drawn[i] = s.start(i, s.drawn[i].Client, work)
			}
			return nil
		}
		if change == math.MaxInt64 {
			break
		}
		s.state.Now = max(change, nanos.Add(s.state.Now, 1))
		for s.chooser == nil && s.look().there.Len() < least && s.present.change() < math.MaxInt64 && jumps < maxJumps {
			jumps++
			s.state.Now = s.present.change()
		}
	}
	return fmt.Errorf("%w: %d of %d are there at %s", ErrNobody, len(s.drawn), least, time.Duration(s.state.Now))
}

// drawThere draws the clients of a round, and returns when others may be there. Fewer than
// the least do not begin.
func (s *Schedule) drawThere(ctx context.Context, least int) (change int64, err error) {
	if s.chooser == nil {
		return s.shuffle(), nil
	}
	chosen, change, err := s.choose(ctx, s.cfg.Drawn)
	for _, client := range chosen {
		if s.drawn = append(s.drawn, Job{Client: int(client)}); len(chosen) < least {
			s.chooser.Put(client)
		}
	}
	return change, err
}

// shuffle draws, with the draws of the round's key, the clients that come first in a shuffle
// of all and are available.
func (s *Schedule) shuffle() (change int64) {
	if s.order == nil {
		s.order = make([]int32, s.cfg.Clients)
		for i := range s.order {
			s.order[i] = int32(i)
		}
	}
	s.swaps, change = s.swaps[:0], math.MaxInt64
	draws := kernels.NewStream(s.cfg.CohortKey(s.state.Steps), uint64(s.step.Failed))
	var p *present
	if s.present != nil {
		p = s.look()
		change = p.change()
	}
	for i := 0; i < len(s.order) && len(s.drawn) < s.cfg.Drawn; i++ {
		k := i + draws.IntN(len(s.order)-i)
		s.order[i], s.order[k] = s.order[k], s.order[i]
		s.swaps = append(s.swaps, int32(k))
		client := int(s.order[i])
		if p != nil && !p.there.Has(client) {
			continue
		}
		if on, until := s.fleet.Available(client, s.state.Now); !on {
			change = min(change, until)
			continue
		}
		if s.drawn = append(s.drawn, Job{Client: client}); p != nil && len(s.drawn) == p.there.Len() {
			break
		}
	}
	for i := len(s.swaps) - 1; i >= 0; i-- {
		k := s.swaps[i]
		s.order[i], s.order[k] = s.order[k], s.order[i]
	}
	if len(s.drawn) < s.cfg.Drawn {
		s.look()
	}
	return change
}

// endRound takes the updates of a round and says whether they are enough. The time goes
// on to the last one that it waits for.
func (s *Schedule) endRound() bool {
	order := s.swaps[:0]
	for i := range s.drawn {
		order = append(order, int32(i))
	}
	s.swaps = order
	slices.SortFunc(order, func(a, b int32) int {
		if s.drawn[a].before(&s.drawn[b]) {
			return -1
		}
		return 1
	})
	due := int64(math.MaxInt64)
	if s.cfg.Deadline > 0 {
		due = nanos.Add(s.state.Now, s.cfg.Deadline)
	}
	taken := 0
	for _, i := range order {
		j := &s.drawn[i]
		if taken == s.cfg.Cohort {
			j.Fate = Late
			continue
		}
		s.state.Now = min(j.End, due)
		switch {
		case j.End > due:
			j.Fate = Late
		case j.Fate == Took:
			taken++
		}
	}
	enough := taken >= min(s.cfg.MinUpdates, s.cfg.Cohort)
	for i := range s.drawn {
		j := s.drawn[i]
		if j.Fate == Late { // the server tells it to stop
			j.Received, j.Computed, j.End = min(j.Received, s.state.Now), min(j.Computed, s.state.Now), min(j.End, s.state.Now)
		}
		switch {
		case j.Fate != Took:
			s.step.Lost = append(s.step.Lost, j)
		case enough:
			s.step.Taken = append(s.step.Taken, j)
		default:
			j.Fate = Late
			s.step.Lost = append(s.step.Lost, j)
		}
	}
	return enough
}
