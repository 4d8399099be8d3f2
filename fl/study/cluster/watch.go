package cluster

import (
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
)

// watch finds workers that are lost.
func (c *Coordinator) watch() {
	here, known := c.broker.Connected()
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.hub == nil {
		p.alone.look(p.here() == 0 && len(p.waiting) > 0, p.joined, c.options.Notice, c.broker.Path)
	}
	for _, s := range p.handles {
		if here[s.inbox] || !known { // then only heartbeats show it
			s.connected = time.Now()
		}
		switch {
		case !known && !c.broker.Conn.IsConnected(): // nobody can be heard
			s.seen = time.Now()
		case s.out:
		case time.Since(s.seen) > c.options.Silence:
			c.lose(s, fmt.Sprintf("no heartbeat for %v", c.options.Silence))
		case time.Since(s.connected) > 2*c.options.Heartbeat && time.Since(s.seen) > 2*c.options.Heartbeat:
			c.lose(s, "connection closed")
		}
	}
}

// lose gives up a worker.
func (c *Coordinator) lose(s *workerHandle, why string) {
	at := ""
	switch {
	case s.lease != 0 && s.share != nil:
		at = fmt.Sprintf(" with %s, which another worker takes over", s.share)
	case s.lease != 0:
		at = fmt.Sprintf(" with trial %d after round %d, which another worker takes over", s.trial, s.rounds)
	}
	if !c.broker.Outage(s.era, nil) { // else it may have given up waiting for the server
		c.pool.fail(c.ledger.loses(s))
	}
	c.remove(s, result.WorkerLost)
	c.options.Notice(fmt.Sprintf("%s lost%s: %s; %s", s.name, at, why, c.pool.inWords()))
}

// remove removes a worker. Its handle stays, so that a late report is still compared.
func (c *Coordinator) remove(s *workerHandle, state string) {
	s.out, s.lease, s.share = true, 0, nil
	close(s.gone)
	if s.pending != nil { // it is alive and waits for an order that will not come
		s.answer(wire.Order{Order: wire.OrderAgain})
	}
	c.journal.worker(result.WorkerRecord{Worker: s.name, State: state})
}
