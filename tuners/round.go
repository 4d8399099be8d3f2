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
	Trial int
	Round int // from 0
	// Slots is the number of clients in the cohort; for Test, of clients to evaluate. Where
	// observations name jobs, it is how many begin before the server's next step if no work
	// is lost: the plan is for these, in that order, and from its first slot on again when
	// there are more.
	Slots   int
	Purpose Purpose
	// ClientKeys tells who sits in each slot, if the tuner's Description asks for the
	// scalar ScalarClientKey: a number for each client, the same in all rounds. Else it
	// is nil.
	ClientKeys []uint64
}

// Plan holds the params that a client tuner sets for one round. A param that it
// leaves out keeps the trial's value.
type Plan struct {
	Server  Params   // for the server's step, may be nil
	Clients []Params // one for all slots, or exactly one per slot; none with a Table
	// Table, of a tuner that says so in its Description, lets every client look its
	// own params up inside its task, by facts about itself that reach neither the
	// server nor the tuner.
	Table []Cell
	// Notes are for people, who see them in reports: what the tuner knows by name,
	// numbers or short vectors, all of them finite. They are recorded with a plan for
	// Train and decide nothing: at most MaxNotes with MaxNoteNumbers together.
	Notes map[string][]float64 `json:",omitempty"`
	// Likeliest are, in a plan for Test whose clients draw their params, those that are drawn
	// most often, and Probability is how often, (0, 1]. Results tell them. Of a plan without,
	// they tell those that most clients have.
	Likeliest   Params  `json:",omitempty"`
	Probability float64 `json:",omitempty"`
}

// The keys of a Cell: facts about all samples that a client holds, those of its
// training, validation and test examples; test samples that the files keep apart
// do not count.
const (
	KeyHI      = "hi"      // heterogeneity index, 0..1
	KeySamples = "samples" // their number
)

// Cell is a row of a table. A client takes the cell that is nearest in KeyHI, of
// several the nearest in KeySamples, of several the first. A key that a cell lacks
// is 0.
type Cell struct {
	Keys   map[string]float64 `json:"keys"`
	Params Params             `json:"params"`
}

// Client returns the params of a slot: the plan's own, or those for all. It is not
// for a plan with a table.
func (p Plan) Client(slot int) Params {
	if len(p.Clients) == 1 {
		return p.Clients[0]
	}
	return p.Clients[slot]
}

// Slot is what one slot of a round showed.
type Slot struct {
	Probes  map[string]float64 // probes and scalars by name
	Dropped bool               // the client's result was not finite, or lost: Probes is empty and its work did not count; leave it out
	// Job says whose work this is, where clients may be late or lost, or be chosen by what
	// they have done, or where the server steps without waiting for a round. Else it is nil:
	// the slot is the plan's. Only a tuner with Description.Jobs receives it.
	Job *Job
}

// Job names the work of a client.
type Job struct {
	Round     int     // whose plan it began with: that of the observation, or an earlier one
	Slot      int     // its own in that plan, 0 where the plan had the same params for all
	Staleness int     // steps of the server since that round
	Weight    float64 // what the server multiplies its change by for them, (0, 1]
	Fate      string  // empty, or for lost work "late", "vanished" or "stale"
}

// Observation tells how a round went. A client tuner learns of a slot that was dropped
// nothing but that it was: FedEx counts it as the worst, FATHOM takes its step on the
// others alone, and none when all were dropped.
type Observation struct {
	Trial      int
	Round      int
	Slots      []Slot             // as many as the plan was asked for, in the same order; or the jobs that have ended, see Slot.Job
	Aggregates map[string]float64 // of the round: means of the probes weighted by examples, and the round's own scalars
	// Oldest is the first round of whose plan a job has not ended, the next round for none:
	// no later observation names a job of a round before.
	Oldest int
}
