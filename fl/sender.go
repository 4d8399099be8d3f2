package fl

import (
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// take notes what a slot's client returned.
func (o *Own) take(slot int, s SendingServer, c contribution, l *Local) {
	o.Weights[slot], o.Numbers[slot] = c.weight, c.number
	s.Take(o.Of(slot), c.delta, l)
}

// own returns cleared memory for what the clients of a round return one by one, nil
// for methods that do not ask for that.
func (t *Trial) own(slots []Slot) *Own {
	s := t.engine.sending(t.server)
	if s == nil {
		return nil
	}
	if t.returned == nil || len(t.returned.Clients) != len(slots) {
		n := s.OwnLen()
		t.returned = &Own{
			Clients: make([]int, len(slots)), Weights: make([]float64, len(slots)), Numbers: make([]float64, len(slots)),
			Changes: make([]float32, len(slots)*n), each: n,
		}
	}
	clear(t.returned.Weights)
	clear(t.returned.Changes)
	for i := range slots {
		t.returned.Clients[i], t.returned.Numbers[i] = slots[i].Client, math.NaN()
	}
	return t.returned
}

// newServer returns the server side of a trial, before its state is filled.
func (e *Engine) newServer() Server {
	if m := &e.cfg.Method; m.NewSender != nil {
		return m.NewSender(&e.cfg, e.setup)
	}
	return e.cfg.Method.NewServer(e.cfg.Model.Size())
}

// sending returns a server side that newServer made as one that sends each client
// weights of its own, nil for other methods.
func (e *Engine) sending(s Server) SendingServer {
	if e.cfg.Method.NewSender == nil || s == nil {
		return nil
	}
	return s.(SendingServer)
}

// looks says whether clients look at the server's side of a trial, so that they must
// be trained where that is.
func (e *Engine) looks() bool { return e.cfg.Method.NewSender != nil || e.store != nil }

// checkSender returns an error for a method whose SendingServers do not fit into memory,
// with the copies that snapshots and evaluations take.
func (e *Engine) checkSender() error {
	c := &e.cfg
	if c.Method.NewSender == nil {
		return nil
	}
	const copies = 3
	kept, own := c.Method.SenderLen(c, e.setup)
	trials := max(1, c.Trials)
	if err := memory.Check(4 * (int64(kept)*int64(trials+c.Kept+copies) + int64(own)*int64(c.Cohort)*int64(trials))); err != nil {
		return fmt.Errorf("method %q keeps %d numbers on its server, gets %d of each client, and with %s %w", c.Method.Name, kept, own, oneline.Count(trials, "trial"), err)
	}
	return nil
}

// checkBuilt returns an error for hyperparameters that would need another server than
// the trial has.
func (e *Engine) checkBuilt(s ServerParams) error {
	if e.cfg.Method.NewSender == nil {
		return nil
	}
	built, now := hyper.Values{Server: *e.cfg.Server}, hyper.Values{Server: s}
	for _, p := range hyper.Table() {
		if strings.HasPrefix(p.Name, "server.") && !p.Tunable && p.Get(&built) != p.Get(&now) {
			return &key.Error{Key: p.Name, Problem: fmt.Sprintf(" = %v: the servers of this study have %v, which no round changes", p.Value(&now), p.Value(&built))}
		}
	}
	return nil
}
