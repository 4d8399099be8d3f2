package wire

import (
	"encoding/json"

	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
)

// Protocol is the version of the messages. Both sides must have the same one.
const Protocol = 2

// Hello is the first message of a worker, and the second one, which adds the facts about
// its data, model and first rounds.
type Hello struct {
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

// Welcome answers a hello.
type Welcome struct {
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
	StateIdle    = "idle"    // has no trial
	StateReady   = "ready"   // has loaded a trial
	StateRound   = "round"   // has run a round: Record, or Panic
	StateFetched = "fetched" // has uploaded blobs
	StateShared  = "shared"  // has done a task: Result or Blob, or Panic
	StateFailed  = "failed"  // could not carry out the order: Problem
	StateBye     = "bye"     // leaves
)

// Request is a worker's report on its last order, and asks for the next one.
type Request struct {
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
	// Sum is the digest of the weights after the round, with which those that are fetched
	// must agree.
	Sum   string `json:"sum,omitempty"`
	Panic string `json:"panic,omitempty"`
	Stack string `json:"stack,omitempty"`
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
	OrderStart = "start" // take a trial: Lease, Trial, Snapshot
	OrderRound = "round" // run a round: Rounds, Plan, Observed
	OrderFetch = "fetch" // upload blobs: of the kept Model, of the State
	OrderShare = "share" // do a Task of Trial after Rounds, by Plan
	OrderDrop  = "drop"  // drop the trial
	OrderAgain = "again" // start over with a hello
	OrderStop  = "stop"  // the study has ended
	OrderLeave = "leave" // the worker is dismissed: Why
)

// Order answers a request.
type Order struct {
	Seq      int64  `json:"seq"` // of the request
	Order    string `json:"order"`
	Lease    int64  `json:"lease,omitempty"`
	Trial    int    `json:"trial,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // empty: start from the initial weights
	// Keep tells the worker to keep the current model before anything else.
	Keep     bool     `json:"keep,omitempty"`
	Rounds   int      `json:"rounds,omitempty"` // number of rounds run before
	Plan     *Plan    `json:"plan,omitempty"`
	Observed []string `json:"observed,omitempty"`
	Task     *Task    `json:"task,omitempty"`
	Model    bool     `json:"model,omitempty"`
	State    bool     `json:"state,omitempty"`
	Why      string   `json:"why,omitempty"`
}

// Task is a part of a round or of an evaluation, which any worker can do.
type Task struct {
	// Weights is the digest of the blob that holds the model.
	Weights string `json:"weights"`
	// Lo and Hi are the slots [Lo,Hi) of a part of a round. An evaluation has an Exam
	// instead; its weights and hyperparameters are in Weights and in the order's plan.
	Lo int `json:"lo,omitempty"`
	Hi int `json:"hi,omitempty"`
	// Clip is the norm to which changes are clipped, where they are.
	Clip float32     `json:"clip,omitempty"`
	Exam *shard.Exam `json:"exam,omitempty"`
}

// Heartbeat shows that a worker is alive.
type Heartbeat struct {
	Worker string `json:"worker"`
}
