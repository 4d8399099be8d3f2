package cluster

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// workerHandle is the coordinator's view of a worker. Coordinator.mu guards it.
type workerHandle struct {
	name    string
	inbox   string // name of its connection
	machine wire.Machine
	scope   *wire.Scope

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

	pending *wire.Request // waits for an order
	reply   *nats.Msg     // the message of the pending request
	last    *wire.Order   // the answer to the previous request
	arrived chan struct{}
}

func newHandle(h wire.Hello, inbox, name string) *workerHandle {
	return &workerHandle{name: name, inbox: inbox, machine: h.Machine, seen: time.Now(), connected: time.Now(), gone: make(chan struct{}), arrived: make(chan struct{}, 1)}
}

// free reports whether the worker waits for a trial.
func (s *workerHandle) free() bool {
	return !s.out && !s.taken && !s.leaving && s.lease == 0 && s.pending != nil && (s.pending.State == wire.StateIdle || s.pending.State == wire.StateShared)
}

// ordered reports whether a request carries the outcome of the worker's last order, if
// that was a round or a part of one. The lease may have ended in the meantime.
func (s *workerHandle) ordered(t *wire.Request) bool {
	o := s.last
	if o == nil || t.Lease != o.Lease || t.Trial != o.Trial {
		return false
	}
	switch t.State {
	case wire.StateRound:
		return o.Order == wire.OrderRound && t.Rounds == o.Rounds+1
	case wire.StateShared:
		return o.Order == wire.OrderShare && t.Rounds == o.Rounds && t.Lo == o.Task.Lo && t.Hi == o.Task.Hi
	}
	return false
}

// answer replies to the pending request with an order.
func (s *workerHandle) answer(o wire.Order) {
	o.Seq = s.pending.Seq
	s.last, s.pending = &o, nil
	s.scope.Respond(s.reply, o)
}

// onHeartbeat handles a heartbeat.
func (c *Coordinator) onHeartbeat(m *nats.Msg) {
	var b wire.Heartbeat
	if !c.scope().Read(m, &b) {
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
	var t wire.Request
	if !c.scope().Read(m, &t) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.handles[t.Worker]
	if s == nil {
		c.scope().Respond(m, wire.Order{Seq: t.Seq, Order: wire.OrderAgain})
		return
	}
	if why := t.Wrong(c.blobs.Tag); why != "" {
		if !s.out {
			c.lose(s, "invalid message: "+why)
		}
		c.scope().Respond(m, wire.Order{Seq: t.Seq, Order: wire.OrderLeave, Why: "invalid message: " + why})
		return
	}
	t.Plain()
	s.seen = time.Now()
	if s.last != nil && t.Seq <= s.last.Seq { // its answer was lost
		if t.Seq == s.last.Seq {
			s.scope.Respond(m, s.last)
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
			s.answer(wire.Order{Order: wire.OrderLeave, Why: err.Error()})
			return
		}
	}
	switch {
	case t.State == wire.StateBye:
		s.answer(wire.Order{Order: wire.OrderStop})
		if !s.out {
			c.remove(s, study.WorkerLeft)
			c.options.Notice(fmt.Sprintf("%s left; %s", s.name, c.count()))
		}
	case s.out:
		s.answer(wire.Order{Order: wire.OrderAgain})
	case t.State == wire.StateIdle && s.lease == 0:
		c.offer(s)
	case t.Lease != s.lease:
		if t.State == wire.StateIdle { // it has given up its trial
			s.lease = 0
			s.wake()
		}
		s.answer(wire.Order{Order: wire.OrderDrop})
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
