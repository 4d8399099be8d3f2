package cluster

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// workerHandle is the coordinator's view of a worker. pool.mu guards it.
type workerHandle struct {
	name    string
	inbox   string // name of its connection
	machine wire.Machine

	seen, connected time.Time // of the last message, and when it was last connected
	out             bool      // it was lost or has left
	gone            chan struct{}
	taken           bool   // a placement has it
	copies          func() // cancels the backup task that it trains; nil for none
	leaving         bool
	dismissed       string // why it was dismissed, empty if it was not

	leased
	dialog
}

// leased is what a worker has a lease for.
type leased struct {
	lease         int64 // 0 for none
	trial, rounds int
	busy          bool   // it is running the next round
	share         *share // nil for a whole trial
	era           uint64 // of the broker
}

// dialog is where the requests of a worker and their answers have come to.
type dialog struct {
	scope   *wire.Scope
	pending *wire.Request // waits for an order
	reply   *nats.Msg     // the message of the pending request
	last    *wire.Order   // the answer to the previous request
	arrived chan struct{}
}

func newHandle(h wire.Hello, inbox, name string, at *wire.Scope) *workerHandle {
	return &workerHandle{
		name: name, inbox: inbox, machine: h.Machine, seen: time.Now(), connected: time.Now(), gone: make(chan struct{}),
		dialog: dialog{scope: at, arrived: make(chan struct{}, 1)},
	}
}

// describe describes the worker's machine.
func (s *workerHandle) describe() string {
	return fmt.Sprintf("%s is fedfast %s on %s, level %s", s.name, s.machine.Version, s.machine.CPU, s.machine.Level)
}

// free reports whether the worker waits for a trial.
func (s *workerHandle) free() bool {
	return !s.out && !s.taken && !s.leaving && s.lease == 0 && s.pending != nil &&
		(s.pending.State == wire.StateIdle || s.pending.State == wire.StateShared)
}

// ordered reports whether a request carries the outcome of the worker's last order, if
// that was a round or a part of one. The lease may have ended in the meantime.
func (s *dialog) ordered(t *wire.Request) bool {
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
func (s *dialog) answer(o wire.Order) {
	o.Seq = s.pending.Seq
	s.last, s.pending = &o, nil
	s.scope.Respond(s.reply, o)
}

// wake wakes the goroutine that waits for the worker.
func (s *dialog) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}
