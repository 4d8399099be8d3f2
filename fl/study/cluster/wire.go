package cluster

import (
	"encoding/json"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study"
)

// protocolVersion is the version of the messages. Both sides must have the same one.
const protocolVersion = 2

// hello is the first message of a worker, and the second one, which adds the facts about
// its data, model and first rounds.
type hello struct {
	Machine
	// Worker is empty in the first message, then the token of the answer.
	Worker string `json:"worker,omitempty"`
	// Facts are set in the second message.
	Facts *study.Facts `json:"facts,omitempty"`
}

// Machine describes a worker's process and machine.
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
	// Refused is the reason why the worker may not join.
	Refused string `json:"refused,omitempty"`
	// Worker is the token of the worker's requests, a secret that it shares with the
	// coordinator. Name is its name in notices and records.
	Worker string `json:"worker,omitempty"`
	Name   string `json:"name,omitempty"`
	// Again tells the worker to start over with a hello, Over that there is nothing
	// more to train.
	Again bool `json:"again,omitempty"`
	Over  bool `json:"over,omitempty"`
	// Tag is the suffix of the names of the study's blobs.
	Tag string `json:"tag,omitempty"`
	// Config is the study file.
	Config string `json:"config,omitempty"`
	// Plain means that the study is one training without scores.
	Plain bool `json:"plain,omitempty"`
	// Heartbeat is the interval of the worker's heartbeats in milliseconds.
	Heartbeat int64 `json:"heartbeat,omitempty"`
}

// The states of a worker in a request.
const (
	stateIdle    = "idle"    // has no trial
	stateReady   = "ready"   // has loaded a trial
	stateRound   = "round"   // has run a round: Record, or Panic
	stateFetched = "fetched" // has uploaded blobs
	stateShared  = "shared"  // has done a task: Result or Blob, or Panic
	stateFailed  = "failed"  // could not carry out the order: Problem
	stateBye     = "bye"     // leaves
)

// request is a worker's report on its last order, and asks for the next one.
type request struct {
	Worker string `json:"worker"`
	// Seq is the sequence number: the same request may arrive twice.
	Seq   int64  `json:"seq"`
	State string `json:"state"`
	// Lease is the worker's lease, 0 for none.
	Lease int64 `json:"lease,omitempty"`
	Trial int   `json:"trial,omitempty"`
	// Rounds is the number of rounds the trial has run.
	Rounds int             `json:"rounds,omitempty"`
	Record json.RawMessage `json:"record,omitempty"`
	Panic  string          `json:"panic,omitempty"`
	Stack  string          `json:"stack,omitempty"`
	// Lo and Hi are the slots [Lo,Hi) of a part of a round. Its result is in Result, or
	// in the blob with the digest Blob.
	Lo     int    `json:"lo,omitempty"`
	Hi     int    `json:"hi,omitempty"`
	Result []byte `json:"result,omitempty"`
	Blob   string `json:"blob,omitempty"`
	// Model and Snapshot are digests of blobs.
	Model    string `json:"model,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`
	Problem  string `json:"problem,omitempty"`
	// Leaving is set once the worker was asked to leave.
	Leaving bool `json:"leaving,omitempty"`
}

// The orders of the coordinator.
const (
	orderStart = "start" // take a trial: Lease, Trial, Snapshot
	orderRound = "round" // run a round: Rounds, Plan, Observed
	orderFetch = "fetch" // upload blobs: of the kept Model, of the State
	orderShare = "share" // do a Task of Trial after Rounds, by Plan
	orderDrop  = "drop"  // drop the trial
	orderAgain = "again" // start over with a hello
	orderStop  = "stop"  // the study has ended
	orderLeave = "leave" // the worker is dismissed: Why
)

// order answers a request.
type order struct {
	Seq      int64  `json:"seq"` // of the request
	Order    string `json:"order"`
	Lease    int64  `json:"lease,omitempty"`
	Trial    int    `json:"trial,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // empty: start from the initial weights
	// Keep tells the worker to keep the current model before anything else.
	Keep     bool     `json:"keep,omitempty"`
	Rounds   int      `json:"rounds,omitempty"` // number of rounds run before
	Plan     *plan    `json:"plan,omitempty"`
	Observed []string `json:"observed,omitempty"`
	Task     *task    `json:"task,omitempty"`
	Model    bool     `json:"model,omitempty"`
	State    bool     `json:"state,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// heartbeat shows that a worker is alive.
type heartbeat struct {
	Worker string `json:"worker"`
}

// plan is an fl.Plan in JSON. A float64 is written in the shortest form that is read back
// as the same bits.
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

// encodePlan encodes a plan.
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

// decode decodes a plan. Params must begin as the defaults; every field is then
// overwritten.
func (p *plan) decode() (fl.Plan, error) {
	out := fl.Plan{Server: hyper.DefaultServer(), Probes: p.Probes}
	if err := json.Unmarshal(p.Server, &out.Server); err != nil {
		return out, err
	}
	for _, raw := range p.Clients {
		c := hyper.DefaultClient()
		if err := json.Unmarshal(raw, &c); err != nil {
			return out, err
		}
		out.Clients = append(out.Clients, c)
	}
	for _, t := range p.Table {
		c := hyper.DefaultClient()
		if err := json.Unmarshal(t.Params, &c); err != nil {
			return out, err
		}
		out.Table = append(out.Table, hyper.Cell{HI: t.HI, Samples: t.Samples, Params: c})
	}
	return out, nil
}
