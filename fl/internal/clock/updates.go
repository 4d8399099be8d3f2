package clock

import (
	"fmt"
	"math"
	"time"

	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
)

// nextUpdates goes on until as many updates have arrived as a step takes, or until the end of
// the first window in which any has.
func (s *Schedule) nextUpdates(work Work, pick Pick) error {
	s.wake, s.begun = 0, 0
	due := int64(math.MaxInt64) // the end of the window
	for jumps := 0; ; {
		flying := s.state.Flying
		switch {
		case len(flying) > 0 && flying[0].End <= s.state.Now:
			s.arrive()
			switch n := len(s.step.Taken); {
			case s.cfg.Window > 0 && n == 1 && due == math.MaxInt64:
				due = s.windowEnd()
			case s.cfg.Window == 0 && n == s.cfg.Buffer:
				s.release()
				return nil
			}
			jumps, s.wake = 0, 0
		case due <= s.state.Now:
			s.release()
			return nil
		case s.wake <= s.state.Now && s.opens():
			if err := s.dispatch(work, pick); err != nil {
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

// windowEnd returns when the window ends that the clock is in.
func (s *Schedule) windowEnd() int64 {
	windows := (s.state.Now - s.step.Start + s.cfg.Window - 1) / s.cfg.Window
	return nanos.Add(s.step.Start, max(windows, 1)*s.cfg.Window)
}

// release lets the clients whose updates are taken begin again.
func (s *Schedule) release() {
	if !s.cfg.Hold {
		return
	}
	for i := range s.step.Taken {
		s.idle.add(s.step.Taken[i].Client)
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
func (s *Schedule) dispatch(work Work, pick Pick) error {
	s.wake = s.state.Now
	if pick != nil {
		change, free := s.there(), s.free()
		chosen, err := s.choose(s.order, free, pick)
		for _, client := range chosen {
			s.begin(int(client), work)
		}
		if len(chosen) < free {
			s.wake = max(change, nanos.Add(s.state.Now, 1))
		}
		return err
	}
	for s.free() > 0 {
		client, change := s.draw()
		if client < 0 {
			s.wake = change
			return nil
		}
		s.begin(client, work)
	}
	return nil
}

// begin has an idle client begin.
func (s *Schedule) begin(client int, work Work) {
	s.idle.remove(client)
	j := s.start(s.begun, client, work)
	j.Place, s.begun = 0, s.begun+1
	s.push(j)
}

// draw draws a client that is idle and available; -1 for nobody, and when that may change.
// It looks at clients at random, and at all of them only when many were away.
func (s *Schedule) draw() (client int, change int64) {
	n := s.idle.n
	if n == 0 {
		return -1, math.MaxInt64
	}
	draws := kernels.NewStream(s.cfg.DispatchKey, s.state.Next)
	for range min(4*n, 1024) {
		client = s.idle.at(draws.IntN(n))
		if on, _ := s.fleet.Available(client, s.state.Now); on {
			return client, 0
		}
	}
	client, change = -1, math.MaxInt64
	there := 0
	for c, idle := range s.idle.has {
		if !idle {
			continue
		}
		on, until := s.fleet.Available(c, s.state.Now)
		if !on {
			change = min(change, until)
			continue
		}
		if there++; draws.IntN(there) == 0 {
			client = c
		}
	}
	return client, max(change, nanos.Add(s.state.Now, 1))
}

// arrive ends the job that ends first.
func (s *Schedule) arrive() {
	j := s.pop()
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
		s.idle.add(j.Client)
	}
}

// push adds a job to the heap of those at work.
func (s *Schedule) push(j Job) {
	s.state.Flying = append(s.state.Flying, j)
	h := s.state.Flying
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !j.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = j
}

// pop takes the job that ends first from the heap.
func (s *Schedule) pop() Job {
	h := s.state.Flying
	first, n := h[0], len(h)-1
	last := h[n]
	h = h[:n]
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && h[down+1].before(&h[down]) {
			down++
		}
		if !h[down].before(&last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	if n > 0 {
		h[i] = last
	}
	s.state.Flying = h
	return first
}
