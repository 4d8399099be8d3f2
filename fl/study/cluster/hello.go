package cluster

import (
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// hello hears a worker that would come in.
func (c *Coordinator) hello(m *nats.Msg) {
	var h hello
	if c.scope().read(m, &h) {
		c.greet(m, &h, token())
	}
}

// greet lets a worker in, in two messages, or refuses it. Its turns will begin with
// worker, which it is told in answer to the first one.
func (c *Coordinator) greet(m *nats.Msg, h *hello, worker string) bool {
	respond := c.scope().respond
	why := h.wrong()
	if h.plain(); why == "" {
		why = c.refuse(h)
	}
	if why != "" {
		why = oneline.Of(why)
		c.options.Notice(fmt.Sprintf("a worker on %s was refused: %s", h.Host, why))
		respond(m, welcome{Refused: why})
		return false
	}
	if h.Facts == nil {
		respond(m, welcome{Worker: worker, Tag: c.blobs.tag, Config: c.config, Plain: c.plain, Beat: c.options.Beat.Milliseconds()})
		return true
	}
	if !isToken(h.Worker) {
		respond(m, welcome{Refused: "it has not said hello before"})
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seats[h.Worker]
	if s == nil && len(c.seats) >= mostWorkers {
		respond(m, welcome{Refused: fmt.Sprintf("%d workers have joined, which is as many as there may be", len(c.seats))})
		return false
	}
	if s == nil { // else the answer was lost
		c.joined++
		s = newSeat(*h, c.scope().inboxOf(m.Reply), fmt.Sprintf("%s-%d", h.Host, c.joined))
		s.scope = c.scope()
		c.seats[h.Worker] = s
		c.record(study.WorkerRecord{Worker: s.name, State: study.WorkerJoined, Host: h.Host, PID: h.PID, CPU: h.CPU, Level: h.Level, Workers: h.Workers})
		c.options.Notice(fmt.Sprintf("%s joined (%s, level %s, %d at once); %s", s.name, h.CPU, h.Level, h.Workers, c.count()))
	}
	respond(m, welcome{Worker: h.Worker, Name: s.name})
	return true
}

// scope is that of the server.
func (c *Coordinator) scope() *scope {
	if c.broker == nil {
		return nil
	}
	return c.broker.scope
}

// inboxOf is the name of a connection, as a reply to it begins with it; empty for what
// is no inbox.
func (s *scope) inboxOf(reply string) string {
	rest, ok := strings.CutPrefix(reply, s.subject(inboxes))
	name, _, found := strings.Cut(rest, ".")
	if !ok || !found {
		return ""
	}
	return name
}

// count says how many workers there are.
func (c *Coordinator) count() string {
	return oneline.Count(c.here(), "worker")
}

// here is how many workers there are.
func (c *Coordinator) here() int {
	n := 0
	for _, s := range c.seats {
		if !s.out {
			n++
		}
	}
	return n
}

// refuse says why a worker may not join, empty if it may.
func (c *Coordinator) refuse(h *hello) string {
	generic := func(level string) bool { return level == "generic" }
	switch {
	case h.Protocol != protocolVersion:
		return fmt.Sprintf("it speaks version %d of the protocol, the coordinator version %d: run the coordinator's version of fedfast there", h.Protocol, protocolVersion)
	case h.Version != c.options.Version:
		return fmt.Sprintf("it is fedfast %s, the coordinator is fedfast %s: run the coordinator's version there", h.Version, c.options.Version)
	case generic(h.Level) != generic(c.level):
		return fmt.Sprintf("it computes at level %s, the coordinator at level %s, which has other bits: choose the same with --cpu", h.Level, c.level)
	case h.Facts == nil:
		return ""
	case h.Facts.Data != c.facts.Data:
		return fmt.Sprintf("its data are %s; the study's are %s: name the study's with --data", h.Facts.Data, c.facts.Data)
	case h.Facts.Layout != c.facts.Layout:
		return "its network has another memory layout than the study's: run the coordinator's version of fedfast there"
	case h.Facts.Golden != c.facts.Golden:
		return fmt.Sprintf("its first rounds have other bits than the study's (%.12s instead of %.12s), so its kind of CPU (%s, level %s) or its build of fedfast cannot be used for this study", h.Facts.Golden, c.facts.Golden, h.CPU, h.Level)
	}
	return ""
}
