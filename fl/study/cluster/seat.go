package cluster

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
)

// seat is a worker as its coordinator sees it. Coordinator.mu guards it.
type seat struct {
	name    string
	inbox   string // the name of its connection
	machine Machine
	scope   *scope

	seen, connected time.Time // when it was last heard of, and connected
	out             bool      // it was lost or has left
	gone            chan struct{}
	taken           bool   // a placement has it
	copies          func() // ends the copy that it trains; nil for none
	leaving         bool

	lease         int64 // 0 for none
	trial, rounds int
	busy          bool   // it runs the round after so many
	share         *share // what it has the lease for, nil for a whole trial

	pending *turn     // that waits for an order
	reply   *nats.Msg // which it came with
	last    *order    // the answer to the turn before
	arrived chan struct{}
}

func newSeat(h hello, inbox, name string) *seat {
	return &seat{name: name, inbox: inbox, machine: h.Machine, seen: time.Now(), connected: time.Now(), gone: make(chan struct{}), arrived: make(chan struct{}, 1)}
}

// free says whether the worker waits for a trial.
func (s *seat) free() bool {
	return !s.out && !s.taken && !s.leaving && s.lease == 0 && s.pending != nil && (s.pending.State == stateIdle || s.pending.State == stateShared)
}

// ordered says whether a turn tells what came of the last order that the worker had, of a
// round or of a part of one. Its lease may have ended meanwhile, but it was the worker's.
func (s *seat) ordered(t *turn) bool {
	o := s.last
	if o == nil || t.Lease != o.Lease || t.Trial != o.Trial {
		return false
	}
	switch t.State {
	case stateRound:
		return o.Order == orderRound && t.Rounds == o.Rounds+1
	case stateShared:
		return o.Order == orderShare && t.Rounds == o.Rounds && t.Lo == o.Task.Lo && t.Hi == o.Task.Hi
	}
	return false
}

// answer gives the worker that waits an order.
func (s *seat) answer(o order) {
	o.Seq = s.pending.Seq
	s.last, s.pending = &o, nil
	s.scope.respond(s.reply, o)
}

// beat hears that a worker lives.
func (c *Coordinator) beat(m *nats.Msg) {
	var b beat
	if !c.scope().read(m, &b) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.seats[b.Worker]; s != nil {
		s.seen = time.Now()
	}
}

// turn hears what a worker has done. Whoever waits for that goes on; a worker whose
// lease is not the present one has its record compared and drops the trial.
func (c *Coordinator) turn(m *nats.Msg) {
	var t turn
	if !c.scope().read(m, &t) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seats[t.Worker]
	if s == nil {
		c.scope().respond(m, order{Seq: t.Seq, Order: orderAgain})
		return
	}
	if why := t.wrong(c.blobs.tag); why != "" {
		if !s.out {
			c.lose(s, "it sent a bad message: "+why)
		}
		c.scope().respond(m, order{Seq: t.Seq, Order: orderLeave, Why: "it says what no worker says: " + why})
		return
	}
	t.plain()
	s.seen = time.Now()
	if s.last != nil && t.Seq <= s.last.Seq { // its answer was lost
		if t.Seq == s.last.Seq {
			s.scope.respond(m, s.last)
		}
		return
	}
	again := s.pending != nil && s.pending.Seq == t.Seq
	s.pending, s.reply = &t, m
	s.leaving = s.leaving || t.Leaving
	if again && !s.out { // it waits longer than an answer may take
		return
	}
	if s.ordered(&t) {
		if err := c.judge(s.name, &t); err != nil {
			s.answer(order{Order: orderLeave, Why: err.Error()})
			return
		}
	}
	switch {
	case t.State == stateBye:
		s.answer(order{Order: orderStop})
		if !s.out {
			c.remove(s, study.WorkerLeft)
			c.options.Notice(fmt.Sprintf("%s left; %s", s.name, c.count()))
		}
	case s.out:
		s.answer(order{Order: orderAgain})
	case t.State == stateIdle && s.lease == 0:
		c.offer(s)
	case t.Lease != s.lease:
		if t.State == stateIdle { // it has given its trial up
			s.lease = 0
			s.wake()
		}
		s.answer(order{Order: orderDrop})
	default:
		s.wake()
	}
}

// wake tells who waits for the worker that it has done something.
func (s *seat) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}
