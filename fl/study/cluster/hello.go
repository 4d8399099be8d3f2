package cluster

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
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
		why = c.refuse(h)
	}
	if why != "" {
		why = oneline.Of(why)
		c.options.Notice(fmt.Sprintf("refused a worker on %s: %s", h.Host, why))
		respond(m, wire.Welcome{Refused: why})
		return false
	}
	if h.Facts == nil {
		respond(m, wire.Welcome{Worker: worker, Tag: c.blobs.Tag, Config: c.config, Plain: c.plain, Heartbeat: c.options.Heartbeat.Milliseconds()})
		return true
	}
	if !wire.IsToken(h.Worker) {
		respond(m, wire.Welcome{Refused: "second hello without a first"})
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.handles[h.Worker]
	if s == nil && len(c.handles) >= wire.MaxWorkers {
		respond(m, wire.Welcome{Refused: fmt.Sprintf("the maximum of %d workers is reached", len(c.handles))})
		return false
	}
	if s == nil { // else the answer was lost
		c.joined++
		s = newHandle(*h, c.scope().InboxOf(m.Reply), fmt.Sprintf("%s-%d", h.Host, c.joined))
		s.scope = c.scope()
		c.handles[h.Worker] = s
		c.record(study.WorkerRecord{Worker: s.name, State: study.WorkerJoined, Host: h.Host, PID: h.PID, CPU: h.CPU, Level: h.Level, Workers: h.Workers})
		c.options.Notice(fmt.Sprintf("%s joined (%s, level %s, %d concurrent clients); %s", s.name, h.CPU, h.Level, h.Workers, c.count()))
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

// count returns the number of workers in words.
func (c *Coordinator) count() string {
	return oneline.Count(c.here(), "worker")
}

// here returns the number of workers.
func (c *Coordinator) here() int {
	n := 0
	for _, s := range c.handles {
		if !s.out {
			n++
		}
	}
	return n
}

// refuse returns why a worker may not join, empty if it may.
func (c *Coordinator) refuse(h *wire.Hello) string {
	generic := func(level string) bool { return level == "generic" }
	switch {
	case h.Protocol != wire.Protocol:
		return fmt.Sprintf("protocol version %d, the coordinator has %d; run the coordinator's version of fedfast", h.Protocol, wire.Protocol)
	case h.Version != c.options.Version:
		return fmt.Sprintf("version %s of fedfast, the coordinator has %s; run the coordinator's version", h.Version, c.options.Version)
	case generic(h.Level) != generic(c.level):
		return fmt.Sprintf("CPU level %s, the coordinator has %s, which gives other bits; set the same level with --cpu", h.Level, c.level)
	case h.Facts == nil:
		return ""
	case h.Facts.Data != c.facts.Data:
		return fmt.Sprintf("data %s, the study has %s; set --data to the study's data", h.Facts.Data, c.facts.Data)
	case h.Facts.Layout != c.facts.Layout:
		return "the model's memory layout differs from the study's; run the coordinator's version of fedfast"
	case h.Facts.Golden != c.facts.Golden:
		return fmt.Sprintf("its first rounds give other bits than the study's (%.12s, want %.12s); this CPU (%s, level %s) or this build of fedfast cannot be used for the study", h.Facts.Golden, c.facts.Golden, h.CPU, h.Level)
	}
	return ""
}
