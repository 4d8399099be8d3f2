package fl

import (
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/data/sys/memory"
	"github.com/fedfast/fedfast/data/sys/oneline"
	"github.com/fedfast/fedfast/fl/hyper"
)

// Sender is a method whose server sends each client weights of its own, which it
// makes of what it keeps, and that gets its clients' changes one by one. What a client
// was sent is then its Local.Broadcast, and what it returns is its change from there.
type Sender interface {
	// NewSender returns the server side of a trial, in the place of NewServer; setup is
	// what Prepare returned. Of Config.Server it may use what no tuner can set. The
	// engine calls it for every new or restored trial.
	NewSender(cfg *Config, setup any) SendingServer
	// SenderLen returns how many numbers that keeps, and its OwnLen. New refuses what
	// does not fit into memory.
	SenderLen(cfg *Config, setup any) (kept, own int)
}

// SendingServer is the server side of a Sender for one trial.
type SendingServer interface {
	Server
	// Begin fills the state of a trial that begins with the weights w; key keys what it
	// draws.
	Begin(w []float32, key uint64)
	// Send makes l.Weights, which hold the trial's, those that the client is sent. It
	// reads the server's state alone: several workers call it at once.
	Send(l *Local)
	// OwnLen returns how many floats of a client's change Step gets one by one.
	OwnLen() int
	// Take copies them from a client's change, w - w_i, to own, which is 0 at first.
	Take(own, delta []float32)
}

// Own is what the clients of a round returned one by one, in the order of its slots.
type Own struct {
	// Clients are the clients, Weights their weights: 0 for one that was left out.
	Clients []int
	Weights []float64
	// Changes hold OwnLen floats a slot, 0 for one that was left out. The server may
	// overwrite them.
	Changes []float32

	each int
}

// Of returns the changes of a slot.
func (o *Own) Of(slot int) []float32 { return o.Changes[slot*o.each:][:o.each] }

// take notes what a slot's client returned.
func (o *Own) take(slot int, s SendingServer, c contribution) {
	o.Weights[slot] = c.weight
	s.Take(o.Of(slot), c.delta)
}

// own returns cleared memory for what the clients of a round return one by one, nil
// for methods that do not ask for that.
func (t *Trial) own(slots []Slot) *Own {
	s, ok := t.server.(SendingServer)
	if !ok {
		return nil
	}
	if t.returned == nil {
		n := s.OwnLen()
		t.returned = &Own{Clients: make([]int, len(slots)), Weights: make([]float64, len(slots)), Changes: make([]float32, len(slots)*n), each: n}
	}
	clear(t.returned.Weights)
	clear(t.returned.Changes)
	for i := range slots {
		t.returned.Clients[i] = slots[i].Client
	}
	return t.returned
}

// newServer returns the server side of a trial, before its state is filled.
func (e *Engine) newServer() Server {
	if s, ok := e.cfg.Method.(Sender); ok {
		return s.NewSender(&e.cfg, e.setup)
	}
	return e.cfg.Method.NewServer(e.cfg.Model.Size())
}

// looks says whether clients look at the server's side of a trial, so that they must
// be trained where that is.
func (e *Engine) looks() bool {
	_, sends := e.cfg.Method.(Sender)
	return sends || e.store != nil
}

// checkSender returns an error for a Sender whose servers do not fit into memory, with
// the copies that snapshots and evaluations take.
func (e *Engine) checkSender() error {
	c := &e.cfg
	s, ok := c.Method.(Sender)
	if !ok {
		return nil
	}
	const copies = 3
	kept, own := s.SenderLen(c, e.setup)
	trials := max(1, c.Trials)
	if err := memory.Check(4 * (int64(kept)*int64(trials+c.Kept+copies) + int64(own)*int64(c.Cohort)*int64(trials))); err != nil {
		return fmt.Errorf("method %q keeps %d numbers on its server, gets %d of each client, and with %s %w", c.Method.Name(), kept, own, oneline.Count(trials, "trial"), err)
	}
	return nil
}

// checkBuilt returns an error for hyperparameters that would need another server than
// the trial has.
func (e *Engine) checkBuilt(s ServerParams) error {
	if _, ok := e.cfg.Method.(Sender); !ok {
		return nil
	}
	built, now := hyper.Values{Server: *e.cfg.Server}, hyper.Values{Server: s}
	for _, p := range hyper.Table() {
		if strings.HasPrefix(p.Name, "server.") && !p.Tunable && p.Get(&built) != p.Get(&now) {
			return &KeyError{Key: p.Name, Problem: fmt.Sprintf(" = %v: the servers of this study have %v, which no round changes", p.Value(&now), p.Value(&built))}
		}
	}
	return nil
}
