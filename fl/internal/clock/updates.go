package clock

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
)

// nextUpdates goes on until as many updates have arrived as a step takes, or until the end of
// the first window in which any has.
func (s *Schedule) nextUpdates(ctx context.Context, work Work) error {
	s.wake, s.begun = 0, 0
	due := int64(math.MaxInt64) // the end of the window
	for jumps := 0; ; {
		flying := s.state.Flying
		switch {
		case len(flying) > 0 && flying[0].End <= s.state.Now:
			s.arrive()
			switch n := len(s.step.Taken); {
			case s.cfg.Window > 0 && n == 1 && due == math.MaxInt64:
				windows := (s.state.Now - s.step.Start + s.cfg.Window - 1) / s.cfg.Window
				due = nanos.Add(s.step.Start, max(windows, 1)*s.cfg.Window)
			case s.cfg.Window == 0 && n == s.cfg.Buffer:
				s.release()
				return nil
			}
			jumps, s.wake = 0, 0
		case due <= s.state.Now:
			s.release()
			return nil
		case s.wake <= s.state.Now && s.opens():
			if err := s.dispatch(ctx, work); err != nil {
				return err
			}
		default:
			to := due
			if s.wake > s.state.Now {
				to = min(to, s.wake)
			}
			if len(flying) > 0 {
				to = min(to, flying[0].End)
			}
			if jumps++; to == math.MaxInt64 || jumps == maxJumps {
				return fmt.Errorf("%w: %d are at work at %s", ErrNobody, len(flying), time.Duration(s.state.Now))
			}
			s.state.Now = to
		}
	}
}

// release lets the clients whose updates are taken begin again.
func (s *Schedule) release() {
	if !s.cfg.Hold {
		return
	}
	for i := range s.step.Taken {
		s.rest(&s.step.Taken[i])
	}
}

// free returns how many clients may begin. In a window, those whose updates have arrived wait
// for its end.
func (s *Schedule) free() int {
	free := s.cfg.Concurrency - len(s.state.Flying)
	if s.cfg.Window > 0 {
		free -= len(s.step.Taken)
	}
	return free
}

// opens says whether clients are to begin.
func (s *Schedule) opens() bool {
	free := s.free()
	return free >= s.cfg.Open || free > 0 && len(s.state.Flying) == 0
}

// dispatch has clients begin until as many work as may, or nobody else is there.
func (s *Schedule) dispatch(ctx context.Context, work Work) error {
	s.wake = s.state.Now
	if s.chooser != nil {
		free := s.free()
		chosen, change, err := s.choose(ctx, free)
		if err != nil {
			return err
		}
		for _, client := range chosen {
			s.begin(int(client), work)
		}
		if len(chosen) < free {
			s.wake = max(change, nanos.Add(s.state.Now, 1))
		}
		return nil
	}
	for s.free() > 0 {
		client, change := s.draw()
		if client < 0 {
			s.wake = change
			return nil
		}
		s.idle.Take(client)
		s.begin(client, work)
	}
	return nil
}

// begin has a client begin.
func (s *Schedule) begin(client int, work Work) {
	j := s.start(s.begun, client, work)
	j.Place, s.begun = 0, s.begun+1
	s.push(j)
}

// push adds a job to those at work.
func (s *Schedule) push(j Job) { s.state.Flying = order.Push(s.state.Flying, j, (*Job).before) }

// rest lets the client of a job begin again.
func (s *Schedule) rest(j *Job) {
	if s.chooser != nil {
		s.chooser.End(int32(j.Client), j.Sequence)
	} else {
		s.idle.Put(j.Client)
	}
}

// draw draws a client that is idle and available; -1 for nobody, and when that may change.
// It looks at clients at random, and at all that are there when many were away.
func (s *Schedule) draw() (client int, change int64) {
	n := s.idle.Len()
	if n == 0 {
		return -1, math.MaxInt64
	}
	p := s.present
	if p != nil && !s.look().any(s.idle.Has) {
		return -1, max(p.change(), nanos.Add(s.state.Now, 1))
	}
	draws := kernels.NewStream(s.cfg.DispatchKey, s.state.Next)
	for range min(4*n, 1024) {
		client = s.idle.At(int32(draws.IntN(n)))
		if p != nil && !p.there.Has(client) {
			continue
		}
		if on, _ := s.fleet.Available(client, s.state.Now); on {
			return client, 0
		}
	}
	client, p = -1, s.look()
	there := 0
	for i := range p.there.Len() {
		if c := p.there.At(int32(i)); s.idle.Has(c) {
			if there++; draws.IntN(there) == 0 {
				client = c
			}
		}
	}
	return client, max(p.change(), nanos.Add(s.state.Now, 1))
}

// arrive ends the job that ends first.
func (s *Schedule) arrive() {
	var j Job
	j, s.state.Flying = order.Pop(s.state.Flying, (*Job).before)
	j.Staleness = s.state.Steps - j.Base
	if j.Fate == Took && j.Staleness > s.cfg.MaxStaleness {
		j.Fate = Stale
	}
	if j.Fate != Took {
		s.step.Lost = append(s.step.Lost, j)
	} else {
		s.step.Taken = append(s.step.Taken, j)
	}
	if j.Fate != Took || !s.cfg.Hold {
		s.rest(&j)
	}
}
