package tuners

import (
	"fmt"

	"github.com/fedfast/fedfast/kernels/det"
)

// DecisionKind says what a Decision asks for.
type DecisionKind uint8

// The kinds of decisions.
const (
	Start   DecisionKind = iota + 1 // run the new trial Trial with Params to round ToRound, then report
	Resume                          // run the paused trial Trial on to round ToRound, then report
	Fork                            // copy trial Source at its round as the new trial Trial with Params, run to ToRound, then report
	Stop                            // trial Trial gets no more rounds; its best snapshot may still be the study's result
	Release                         // trial Trial's snapshot is no longer needed for Resume or Fork
	Wait                            // nothing to do until the next report
	Done                            // the study is over; Best is the tuner's choice
	Score                           // score the sub-networks Points of the paused trial Trial's model without training, then report
	Local                           // have clients train by themselves with each of Points, as LocalSearch says, then report; Trial is NoTrial
)

// NoTrial is the trial of a Local and of its report.
const NoTrial = -1

// String returns the kind in lower case.
func (k DecisionKind) String() string {
	switch k {
	case Start:
		return "start"
	case Resume:
		return "resume"
	case Fork:
		return "fork"
	case Stop:
		return "stop"
	case Release:
		return "release"
	case Wait:
		return "wait"
	case Done:
		return "done"
	case Score:
		return "score"
	case Local:
		return "local"
	}
	return fmt.Sprintf("decision(%d)", uint8(k))
}

// Decision is one thing that a trial tuner asks the study to do.
type Decision struct {
	Kind    DecisionKind
	Trial   int    // the trial it is about; new trials are numbered 0, 1, 2, ... in the order of their decisions
	Source  int    // Fork: the trial that is copied
	Params  Params // Start, Fork: a point of the whole space
	ToRound int    // Start, Resume, Fork: rounds that the trial has run when it reports (absolute, from its round 0)
	Best    int    // Done: the surviving trial, -1 when none
	// Environment says where a Start of a session that prepares runs its trial; nil
	// is the study's own federation. The params of such a trial are those that the
	// tuner controls, and need not be a point of the space.
	Environment *Environment
	// Table, for a Start in an Environment, are the clients of a mixed proxy federation, one
	// of each cell: its keys, both of them, say what the client holds, its params, of those
	// that the tuner controls, what it trains with. Params are empty then.
	Table []Cell
	// Points are, for a Score, sub-networks by their client.arch.NAME, from 1 to
	// MaxPoints of them; a choice that one leaves out is as in the whole network. For a
	// Local they are points of the whole space.
	Points []Params
	// LocalSearch says how clients train in a Local; nil in all others.
	LocalSearch *LocalSearch
}

// LocalSearch says how clients train by themselves: each from the study's initial model on
// its own training samples, once with every point. Nothing is aggregated, and no round of the
// budget is spent. Only clients with validation samples take part.
type LocalSearch struct {
	Epochs  float64 `json:"epochs,omitempty"`  // local epochs in place of the points' own; 0: client.epochs or client.steps
	Clients int     `json:"clients,omitempty"` // that take part, drawn by the seed; 0: all
	// Votes, when above 0, is the number of points for which each client votes, those of its
	// best scores, of equal ones of the lower loss, then the first; it tells nothing else.
	Votes int `json:"votes,omitempty"`
}

// Sends says whether the study runs something for the decision, whose trial then
// reports.
func (d Decision) Sends() bool {
	return d.Kind == Start || d.Kind == Resume || d.Kind == Fork || d.Kind == Score || d.Kind == Local
}

// Proxy is the kind of an Environment.
const Proxy = "proxy"

// Environment is a proxy federation, drawn from samples that the study took out of
// its federation for this (data.proxy). Its trials are scored by the error of the
// global model on proxy samples that no client of it holds, and never count as the
// study's best.
type Environment struct {
	Kind    string  `json:"kind"`    // Proxy
	HI      float64 `json:"hi"`      // heterogeneity index of every client, 0..1: 1 - (c - 1) / (classes - 1) for c classes a client; 0 with a Decision.Table
	Samples int     `json:"samples"` // of each client; 0 with a Decision.Table
	Clients int     `json:"clients"` // with a Decision.Table as many as its cells
	Cohort  int     `json:"cohort"`  // clients a round
	Seed    uint64  `json:"seed"`
}

// TrialReport tells how a trial did when it reached its decision's ToRound.
type TrialReport struct {
	Trial  int
	Round  int     // rounds that the trial has run
	Score  float64 // in the study's objective; NaN when Failed
	Failed bool    // the trial cannot go on (its loss is not finite, a client failed)
	Reason string  // why it failed
	// Values are the trial's, by metric, of several objectives and constraints, see
	// Aims.Metrics; nil with one objective alone.
	Values map[string]float64
	// Measured are, after a Score or a Local, its points in their order. After a Score,
	// Score is the score of the trial's last report, after a Local it is NaN.
	Measured []Measured
	// Samples are, after a Local without votes, the numbers of the clients' validation
	// samples, if the tuner's Description asks for the scalar "examples_val".
	Samples []int
}

// Measured is a sub-network as it stands in a trial's model, with no training of its
// own: the weights on validation examples of all clients, or of finalists.clients of
// them, under the target global. After a Local it is a point, and Score the mean over the
// clients, weighted by validation samples, of what each one's own model scores.
type Measured struct {
	Score  float64 // in the study's metric; not finite where the model's output is not
	FLOPs  float64 // operations of a forward pass, for one example
	Params float64 // how many it has
	// Votes are the clients that voted for the point, with noise in a private study: then
	// they are not whole, and may be below 0.
	Votes float64
	// Clients are the clients' own scores, in the same order for every point: nil with
	// votes, and in a private study, where Score alone is told, with noise.
	Clients []float64
}

// Unusable says that the report holds no score to compare: the trial failed, or its
// score is not finite.
func (r TrialReport) Unusable() bool { return r.Failed || !det.Finite(r.Score) }

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
