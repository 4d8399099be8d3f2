package cluster

import (
	"encoding/json"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
)

// protocolVersion is the version of the messages; both sides must have the same.
const protocolVersion = 2

// hello is the first message of a worker, and the second, with the facts about what
// it trains.
type hello struct {
	Machine
	// Worker is empty in the first message, then what the answer to it said.
	Worker string `json:"worker,omitempty"`
	// Facts are of the second message.
	Facts *study.Facts `json:"facts,omitempty"`
}

// Machine says where and what a worker is.
type Machine struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Level    string `json:"level"`
	Host     string `json:"host"`
	PID      int    `json:"pid"`
	CPU      string `json:"cpu"`
	Workers  int    `json:"workers"`
}

// welcome answers a hello.
type welcome struct {
	// Refused says in a line why the worker may not join.
	Refused string `json:"refused,omitempty"`
	// Worker is what the worker's turns begin with, a secret of it and the
	// coordinator; Name is what people see.
	Worker string `json:"worker,omitempty"`
	Name   string `json:"name,omitempty"`
	// Again has the worker say hello again, Over says that there is nothing more to
	// train.
	Again bool `json:"again,omitempty"`
	Over  bool `json:"over,omitempty"`
	// Tag ends the names of the study's blobs.
	Tag string `json:"tag,omitempty"`
	// Config is the study file.
	Config string `json:"config,omitempty"`
	// Plain says that the study is one training without scores.
	Plain bool `json:"plain,omitempty"`
	// Beat is how often, in milliseconds, the worker says that it lives.
	Beat int64 `json:"beat,omitempty"`
}

// The states in which a worker asks what to do.
const (
	stateIdle    = "idle"    // it has no trial
	stateReady   = "ready"   // it has loaded one
	stateRound   = "round"   // it has run a round: Record, or Panic
	stateFetched = "fetched" // it has put blobs
	stateShared  = "shared"  // it has done a task: Result or Blob, or Panic
	stateFailed  = "failed"  // it could not do what it was asked to: Problem
	stateBye     = "bye"     // it leaves
)

// turn is what a worker says when it has done an order.
type turn struct {
	Worker string `json:"worker"`
	// Seq numbers the worker's turns: the same one may come twice.
	Seq   int64  `json:"seq"`
	State string `json:"state"`
	// Lease is the one under which it works, 0 for none.
	Lease int64 `json:"lease,omitempty"`
	Trial int   `json:"trial,omitempty"`
	// Rounds are how many the trial has run.
	Rounds int             `json:"rounds,omitempty"`
	Record json.RawMessage `json:"record,omitempty"`
	Panic  string          `json:"panic,omitempty"`
	Stack  string          `json:"stack,omitempty"`
	// Lo and Hi are the slots of a round's part, and what it came to is Result, or in
	// the blob of a digest, Blob.
	Lo     int    `json:"lo,omitempty"`
	Hi     int    `json:"hi,omitempty"`
	Result []byte `json:"result,omitempty"`
	Blob   string `json:"blob,omitempty"`
	// Model and Snapshot are the digests of blobs.
	Model    string `json:"model,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	Problem  string `json:"problem,omitempty"`
	// Leaving says that the worker was asked to end.
	Leaving bool `json:"leaving,omitempty"`
}

// The orders of the coordinator.
const (
	orderStart = "start" // take a trial: Lease, Trial, Snapshot
	orderRound = "round" // run a round: Rounds, Plan, Observed
	orderFetch = "fetch" // put blobs: of the kept Model, of the State
	orderShare = "share" // do a Task for Trial after Rounds, by Plan
	orderDrop  = "drop"  // forget the trial
	orderAgain = "again" // say hello again
	orderStop  = "stop"  // the study has ended
	orderLeave = "leave" // the worker is not wanted any more: Why
)

// order is the answer to a turn.
type order struct {
	Seq      int64  `json:"seq"` // of the turn
	Order    string `json:"order"`
	Lease    int64  `json:"lease,omitempty"`
	Trial    int    `json:"trial,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // empty begins from the first weights
	// Keep says that the model is to be kept as it is before anything else.
	Keep     bool     `json:"keep,omitempty"`
	Rounds   int      `json:"rounds,omitempty"` // that the trial has run before
	Plan     *plan    `json:"plan,omitempty"`
	Observed []string `json:"observed,omitempty"`
	Task     *task    `json:"task,omitempty"`
	Model    bool     `json:"model,omitempty"`
	State    bool     `json:"state,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// beat says that a worker lives.
type beat struct {
	Worker string `json:"worker"`
}

// plan is an fl.Plan in JSON, in which a float64 has the shortest form that reads
// back as the same bits.
type plan struct {
	Server  json.RawMessage   `json:"server"`
	Clients []json.RawMessage `json:"clients,omitempty"`
	Table   []cell            `json:"table,omitempty"`
	Probes  []string          `json:"probes,omitempty"`
}

type cell struct {
	HI      float64         `json:"hi"`
	Samples float64         `json:"samples"`
	Params  json.RawMessage `json:"params"`
}

// encodePlan writes a plan.
func encodePlan(p fl.Plan) (*plan, error) {
	out := &plan{Probes: p.Probes}
	var err error
	if out.Server, err = json.Marshal(p.Server); err != nil {
		return nil, err
	}
	for i := range p.Clients {
		c, err := json.Marshal(p.Clients[i])
		if err != nil {
			return nil, err
		}
		out.Clients = append(out.Clients, c)
	}
	for i := range p.Table {
		c, err := json.Marshal(p.Table[i].Params)
		if err != nil {
			return nil, err
		}
		out.Table = append(out.Table, cell{p.Table[i].HI, p.Table[i].Samples, c})
	}
	return out, nil
}

// decode reads a plan. Params begin as the defaults, as they must; every field is
// then written over.
func (p *plan) decode() (fl.Plan, error) {
	out := fl.Plan{Server: fl.DefaultServerParams(), Probes: p.Probes}
	if err := json.Unmarshal(p.Server, &out.Server); err != nil {
		return out, err
	}
	for _, raw := range p.Clients {
		c := fl.DefaultClientParams()
		if err := json.Unmarshal(raw, &c); err != nil {
			return out, err
		}
		out.Clients = append(out.Clients, c)
	}
	for _, t := range p.Table {
		c := fl.DefaultClientParams()
		if err := json.Unmarshal(t.Params, &c); err != nil {
			return out, err
		}
		out.Table = append(out.Table, fl.Cell{HI: t.HI, Samples: t.Samples, Params: c})
	}
	return out, nil
}
