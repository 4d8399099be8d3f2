package cluster

import (
	"fmt"
	"strings"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// watch finds workers that are lost.
func (c *Coordinator) watch() {
	tick := time.NewTicker(c.options.Heartbeat / 2)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		here, known := c.broker.Connected()
		c.mu.Lock()
		if c.hub == nil {
			c.alone.look(c.here() == 0 && len(c.waiting) > 0, c.joined, &c.options, c.broker)
		}
		for _, s := range c.handles {
			if here[s.inbox] || !known { // then only heartbeats show it
				s.connected = time.Now()
			}
			switch {
			case s.out:
			case time.Since(s.seen) > c.options.Silence:
				c.lose(s, fmt.Sprintf("no heartbeat for %v", c.options.Silence))
			case time.Since(s.connected) > 2*c.options.Heartbeat && time.Since(s.seen) > 2*c.options.Heartbeat:
				c.lose(s, "connection closed")
			}
		}
		c.mu.Unlock()
	}
}

// vigil tracks how long trials have waited without any worker.
type vigil struct {
	since time.Time     // zero if nothing waits
	next  time.Duration // when the next notice is due
}

// look reports that trials wait: soon, then less and less often.
func (v *vigil) look(waits bool, joined int, o *Options, b *wire.Broker) {
	if !waits {
		*v = vigil{}
		return
	}
	if v.since.IsZero() {
		v.since, v.next = time.Now(), o.alone
	}
	waited := time.Since(v.since)
	if waited < v.next {
		return
	}
	v.next = min(2*v.next, v.next+time.Hour)
	so := "none has joined yet"
	if joined > 0 {
		so = fmt.Sprintf("%d joined so far, none left", joined)
	}
	o.Notice(fmt.Sprintf("no worker for %v (%s); add one with: fedfast worker --join %s", waited.Round(time.Second), so, b.Path))
}

// lose gives up a worker.
func (c *Coordinator) lose(s *workerHandle, why string) {
	at := ""
	switch {
	case s.lease != 0 && s.share != nil:
		at = fmt.Sprintf(" with %s, which another worker takes over", s.share)
		c.lostShares[*s.share] = append(c.lostShares[*s.share], s.name)
		if names := c.lostShares[*s.share]; len(names) >= maxLost {
			c.fail(fmt.Errorf("%d workers were lost while running %s: %s; check why they ended, then resume the study", len(names), s.share, strings.Join(names, ", ")))
		}
	case s.lease != 0:
		at = fmt.Sprintf(" with trial %d after round %d, which another worker takes over", s.trial, s.rounds)
		if s.busy {
			p := place{s.trial, s.rounds}
			c.lost[p] = append(c.lost[p], s.name)
			if names := c.lost[p]; len(names) >= maxLost {
				c.fail(fmt.Errorf("trial %d, round %d: %d workers were lost while training it: %s; check why they ended, then resume the study", p.trial, p.rounds+1, len(names), strings.Join(names, ", ")))
			}
		}
	}
	c.remove(s, study.WorkerLost)
	c.options.Notice(fmt.Sprintf("%s lost%s: %s; %s", s.name, at, why, c.count()))
}

// remove removes a worker. Its handle stays, so that a late report is still compared.
func (c *Coordinator) remove(s *workerHandle, state string) {
	s.out, s.lease, s.share = true, 0, nil
	close(s.gone)
	if s.pending != nil { // it is alive and waits for an order that will not come
		s.answer(wire.Order{Order: wire.OrderAgain})
	}
	c.record(study.WorkerRecord{Worker: s.name, State: state})
}
