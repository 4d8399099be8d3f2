// Package shard holds what engines exchange that train a round, or measure a model,
// together: package fl, the studies that spread the work, and the clusters that carry it.
package shard

import (
	"context"
	"fmt"
	"io"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
)

// Engines are other engines, such as those of other machines, which have the same model,
// method, data and settings. What comes of them has the same bits. The methods are called
// from several goroutines.
type Engines interface {
	// Shards says into how many shards the clients of a round of a trial are to be split;
	// 0 has them trained by the asking engine.
	Shards(trial, round, clients int) int
	// Train has a shard of a round trained by fl.Engine.Train of another engine, and has
	// read read what that wrote.
	Train(ctx context.Context, s Round, read func(io.Reader) error) error
	// Exams returns into how many exams the measurement of a model on the given number
	// of clients is to be split; 0 has the asking engine measure it.
	Exams(clients int) int
	// Measure has clients measure a model by fl.Engine.Measure of another engine, and has
	// read read what that wrote.
	Measure(ctx context.Context, x Exam, read func(io.Reader) error) error
}

// Plan is the fl.Plan of a round.
type Plan struct {
	Server  hyper.Server
	Clients []hyper.Client
	Table   []hyper.Cell
	Time    fleet.Time
	Sampler fleet.Sampler

	Update     hyper.Update
	Aggregator hyper.Aggregation

	Probes []string
}

// Round is a part of a round that any engine of its study can train.
type Round struct {
	// Trial is the trial's number, Round how many rounds it has run.
	Trial, Round int
	// Weights are those that the server sends; read-only.
	Weights []float32
	// Plan is the whole round's.
	Plan Plan
	// Clip is the norm to which changes are clipped, where they are.
	Clip float32
	// Lo and Hi bound the slots to train, from Lo to before Hi: as Sizes splits the cohort.
	Lo, Hi int
}

// Exam says which clients measure a model, and how. What a client measures depends
// on no other one, so an exam can be split anywhere.
type Exam struct {
	// Weights are the model's; read-only.
	Weights []float32
	// Clients are indices of clients; with Unseen they are of those that never train,
	// with Central of the parts of the federation's own test set.
	Clients []int
	Unseen  bool
	Central bool `json:",omitempty"`
	// Every has scores on test examples hold the answers about one in N; 0 is none.
	Every int `json:",omitempty"`
	// GlobalVal and GlobalTest have the weights as they are measured on validation
	// and test examples, PersonalVal and PersonalTest those that each client trains
	// from them.
	GlobalVal, GlobalTest, PersonalVal, PersonalTest bool
	// Kept has PersonalVal and PersonalTest measure the models that the clients have
	// instead, without training.
	Kept bool `json:",omitempty"`
	// Alone, when > 0, has them measure the models that clients make all alone by N trainings
	// instead, one after the other from Weights, by plain local steps with the schedules of Round rounds.
	Alone float64 `json:",omitempty"`
	// Params are the hyperparameters of that training, one for all or one for each of
	// Clients, and Server those of the server.
	Params []hyper.Client
	Server hyper.Server
	// Round is how many rounds the model has trained.
	Round int
	// Arch, as fl.ClientParams.Arch, picks a sub-network, which is measured instead of the
	// whole network.
	Arch string `json:",omitempty"`
}

// Personal says whether clients train.
func (x *Exam) Personal() bool { return x.PersonalVal || x.PersonalTest }

// Of is the exam of the clients from lo to before hi.
func (x Exam) Of(lo, hi int) Exam {
	x.Clients = x.Clients[lo:hi]
	if len(x.Params) > 1 {
		x.Params = x.Params[lo:hi]
	}
	return x
}

// MostCount is more than the steps and the examples of a round are.
const MostCount = 1 << 40

// PanicError is a panic in a client task, which ends the round and not the
// process.
type PanicError struct {
	// Value is what was panicked with.
	Value any
	// Stack is the stack of the task.
	Stack []byte
}

// Error tells the value; the stack is for logs.
func (e *PanicError) Error() string { return fmt.Sprintf("panic in a client task: %v", e.Value) }

// Group is the number of neighbouring slots that are summed as one chain. A round is
// summed as a tree that only the size of its cohort decides. Its leaves are groups, each
// one chain in the order of tasks; neighbours are added up two by two, then the sums of
// those, where one without a neighbour goes up as it is. So a cohort can be split between
// any two groups.
const Group = 16

// Span are the slots of a cohort from Lo to before Hi.
type Span struct{ Lo, Hi int }

// Split splits a cohort into n shards or more, if it has at least n groups, and as few as
// that allows. Each shard is a subtree of the tree of sums.
func Split(cohort, n int) []Span {
	size := Group
	for (cohort+2*size-1)/(2*size) >= n {
		if size >= cohort {
			break
		}
		size *= 2
	}
	var spans []Span
	for lo := 0; lo < cohort; lo += size {
		spans = append(spans, Span{lo, min(lo+size, cohort)})
	}
	return spans
}
