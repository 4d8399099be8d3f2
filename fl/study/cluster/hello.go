package cluster

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// onHello handles the hello of a worker.
func (c *Coordinator) onHello(m *nats.Msg) {
	var h wire.Hello
	if c.scope().Read(m, &h) {
		c.greet(m, &h, wire.Token())
	}
}

// greet admits a worker, in two messages, or refuses it. The answer to the first message
// assigns it the token worker, which its requests must contain.
func (c *Coordinator) greet(m *nats.Msg, h *wire.Hello, worker string) bool {
	respond := c.scope().Respond
	why := h.Wrong()
	if h.Plain(); why == "" {
		why = c.terms.refuse(h)
	}
	if why != "" {
		why = oneline.Of(why)
		c.options.Notice(fmt.Sprintf("refused a worker on %s: %s", h.Host, why))
		respond(m, wire.Welcome{Refused: why})
		return false
	}
	if h.Facts == nil {
		respond(m, wire.Welcome{
			Worker: worker, Tag: c.transit.Tag, Config: c.terms.config, Plain: c.terms.plain,
			Heartbeat: c.options.Heartbeat.Milliseconds(),
		})
		return true
	}
	if !wire.IsToken(h.Worker) {
		respond(m, wire.Welcome{Refused: "second hello without a first"})
		return false
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	s := c.pool.handles[h.Worker]
	if s == nil && len(c.pool.handles) >= wire.MaxWorkers {
		respond(m, wire.Welcome{Refused: fmt.Sprintf("the maximum of %d workers is reached", len(c.pool.handles))})
		return false
	}
	if s == nil { // else the answer was lost
		c.pool.joined++
		s = newHandle(*h, c.scope().InboxOf(m.Reply), fmt.Sprintf("%s-%d", h.Host, c.pool.joined), c.scope())
		c.pool.handles[h.Worker] = s
		c.journal.worker(result.WorkerRecord{
			Worker: s.name, State: result.WorkerJoined, Host: h.Host, PID: h.PID, CPU: h.CPU,
			Level: h.Level, Workers: h.Workers,
		})
		c.options.Notice(fmt.Sprintf("%s joined (%s, level %s, %d concurrent clients); %s", s.name, h.CPU, h.Level,
			h.Workers, c.pool.inWords()))
	}
	respond(m, wire.Welcome{Worker: h.Worker, Name: s.name})
	return true
}

// scope returns the scope on the server.
func (c *Coordinator) scope() *wire.Scope {
	if c.broker == nil {
		return nil
	}
	return c.broker.Scope
}
