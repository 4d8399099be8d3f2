package cluster

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
)

// workerHandle is the coordinator's view of a worker. Coordinator.mu guards it.
type workerHandle struct {
	name    string
	inbox   string // name of its connection
	machine Machine
	scope   *scope

	seen, connected time.Time // of the last message, and when it was last connected
	out             bool      // it was lost or has left
	gone            chan struct{}
	taken           bool   // a placement has it
	copies          func() // cancels the backup task that it trains; nil for none
	leaving         bool

	lease         int64 // 0 for none
	trial, rounds int
	busy          bool   // it is running the next round
	share         *share // what the lease is for, nil for a whole trial

	pending *request  // waits for an order
	reply   *nats.Msg // the message of the pending request
	last    *order    // the answer to the previous request
	arrived chan struct{}
}

func newHandle(h hello, inbox, name string) *workerHandle {
	return &workerHandle{name: name, inbox: inbox, machine: h.Machine, seen: time.Now(), connected: time.Now(), gone: make(chan struct{}), arrived: make(chan struct{}, 1)}
}

// free reports whether the worker waits for a trial.
func (s *workerHandle) free() bool {
	return !s.out && !s.taken && !s.leaving && s.lease == 0 && s.pending != nil && (s.pending.State == stateIdle || s.pending.State == stateShared)
}

// ordered reports whether a request carries the outcome of the worker's last order, if
// that was a round or a part of one. The lease may have ended in the meantime.
func (s *workerHandle) ordered(t *request) bool {
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

// answer replies to the pending request with an order.
func (s *workerHandle) answer(o order) {
	o.Seq = s.pending.Seq
	s.last, s.pending = &o, nil
	s.scope.respond(s.reply, o)
}

// onHeartbeat handles a heartbeat.
func (c *Coordinator) onHeartbeat(m *nats.Msg) {
	var b heartbeat
	if !c.scope().read(m, &b) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.handles[b.Worker]; s != nil {
		s.seen = time.Now()
	}
}

// onRequest handles a worker's request: it wakes the goroutine that waits for the
// outcome. If the lease is not the current one, the record is compared and the worker is
// ordered to drop the trial.
func (c *Coordinator) onRequest(m *nats.Msg) {
	var t request
	if !c.scope().read(m, &t) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.handles[t.Worker]
	if s == nil {
		c.scope().respond(m, order{Seq: t.Seq, Order: orderAgain})
		return
	}
	if why := t.wrong(c.blobs.tag); why != "" {
		if !s.out {
			c.lose(s, "invalid message: "+why)
		}
		c.scope().respond(m, order{Seq: t.Seq, Order: orderLeave, Why: "invalid message: " + why})
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
	if again && !s.out { // a repetition: the answer takes longer than the worker's timeout
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
		if t.State == stateIdle { // it has given up its trial
			s.lease = 0
			s.wake()
		}
		s.answer(order{Order: orderDrop})
	default:
		s.wake()
	}
}

// wake wakes the goroutine that waits for the worker.
func (s *workerHandle) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}
