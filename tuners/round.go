package tuners

import "fmt"

// Purpose says what a plan is for.
type Purpose uint8

// The purposes of a plan.
const (
	Train Purpose = iota // a training round: an observation follows
	Test                 // an evaluation of all clients: no observation follows and the session's state stays as it is
)

// String returns "train" or "test".
func (p Purpose) String() string {
	switch p {
	case Train:
		return "train"
	case Test:
		return "test"
	}
	return fmt.Sprintf("purpose(%d)", uint8(p))
}

// PlanRequest asks for the controlled params of one round of one trial.
type PlanRequest struct {
	Trial   int
	Round   int // from 0
	Slots   int // clients in the cohort; for Test: clients to evaluate
	Purpose Purpose
}

// Plan holds the params that a client tuner sets for one round. A param that it leaves out keeps the trial's value.
type Plan struct {
	Server  Params   // for the server's step, may be nil
	Clients []Params // one for all slots, or exactly one per slot
}

// Client returns the params of a slot: the plan's own, or those for all.
func (p Plan) Client(slot int) Params {
	if len(p.Clients) == 1 {
		return p.Clients[0]
	}
	return p.Clients[slot]
}

// Slot is what one slot of a round showed.
type Slot struct {
	Probes  map[string]float64 // probes and scalars by name
	Dropped bool               // the client did not finish: Probes is empty and its work did not count
}

// Observation tells how a round went.
type Observation struct {
	Trial      int
	Round      int
	Slots      []Slot             // as many as the plan was asked for, in the same order
	Aggregates map[string]float64 // of the round: means of the probes weighted by examples, and the round's own scalars
}
