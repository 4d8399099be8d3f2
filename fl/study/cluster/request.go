package cluster

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
)

// onHeartbeat handles a heartbeat.
func (c *Coordinator) onHeartbeat(m *nats.Msg) {
	var b wire.Heartbeat
	if !c.scope().Read(m, &b) {
		return
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if s := c.pool.handles[b.Worker]; s != nil {
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
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	s := c.pool.handles[t.Worker]
	if s == nil {
		c.scope().Respond(m, wire.Order{Seq: t.Seq, Order: wire.OrderAgain})
		return
	}
	if why := t.Wrong(c.transit.Tag); why != "" {
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
		c.ledger.judge(s, &t)
	}
	switch {
	case t.State == wire.StateBye:
		s.answer(wire.Order{Order: wire.OrderStop})
		if !s.out {
			c.remove(s, result.WorkerLeft)
			c.options.Notice(fmt.Sprintf("%s left; %s", s.name, c.pool.inWords()))
		}
	case s.dismissed != "":
		s.answer(wire.Order{Order: wire.OrderLeave, Why: s.dismissed})
	case s.out:
		s.answer(wire.Order{Order: wire.OrderAgain})
	case t.State == wire.StateIdle && s.lease == 0:
		c.pool.offer(s)
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
