package cluster

import (
	"bytes"
	"context"
	"io"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/worker"
)

// levers are the options of a worker in a test, and what is made of its rounds.
type levers struct {
	WorkerOptions
	change func(record []byte) []byte // changes its records
	state  func(*fl.Snapshot) *fl.Snapshot
	plan   func(*fl.Plan)                               // changes the plans of its rounds
	round  func() error                                 // what it says instead of the record
	part   func(s *shard.Round)                         // changes the parts that it is given
	exam   func(x *shard.Exam)                          // changes the evaluations that it is given
	result func(text []byte, err error) ([]byte, error) // changes what it says of a task
	slow   time.Duration                                // delays each round
	stall  func(rounds int)                             // called before each round, with their number so far
	rounds int
}

// open opens an engine whose rounds are as the levers have them.
func (l *levers) open(ctx context.Context, text string, plain bool) (worker.Engine, study.Facts, error) {
	e, facts, err := worker.Studies(worker.Options(l.WorkerOptions))(ctx, text, plain)
	if err != nil {
		return nil, facts, err
	}
	return leverEngine{e, l}, facts, nil
}

type leverEngine struct {
	worker.Engine
	levers *levers
}

func (e leverEngine) Begin(trial int) worker.Job { return leverJob{e.Engine.Begin(trial), e.levers} }

func (e leverEngine) Resume(s *fl.Snapshot) (worker.Job, error) {
	j, err := e.Engine.Resume(s)
	if err != nil {
		return nil, err
	}
	return leverJob{j, e.levers}, nil
}

type leverJob struct {
	worker.Job
	levers *levers
}

func (j leverJob) Round(ctx context.Context, plan fl.Plan, observed []string) ([]byte, error) {
	l := j.levers
	time.Sleep(l.slow)
	if l.stall != nil {
		l.stall(l.rounds)
	}
	if l.plan != nil {
		plan.Clients = slices.Clone(plan.Clients)
		l.plan(&plan)
	}
	record, err := j.Job.Round(ctx, plan, observed)
	if err == nil && l.round != nil {
		err = l.round()
	}
	if err != nil {
		return nil, err
	}
	if l.rounds++; l.change != nil {
		record = l.change(record)
	}
	return record, nil
}

func (j leverJob) State() *fl.Snapshot { return j.changed(j.Job.State()) }

func (j leverJob) Kept() *fl.Snapshot { return j.changed(j.Job.Kept()) }

func (j leverJob) changed(s *fl.Snapshot) *fl.Snapshot {
	if j.levers.state == nil || s == nil {
		return s
	}
	other := *s
	other.Weights = slices.Clone(s.Weights)
	return j.levers.state(&other)
}

func (e leverEngine) Train(ctx context.Context, s shard.Round, to io.Writer) error {
	if e.levers.part != nil {
		s.Weights, s.Plan.Clients = slices.Clone(s.Weights), slices.Clone(s.Plan.Clients)
		e.levers.part(&s)
	}
	return e.said(to, func(to io.Writer) error { return e.Engine.Train(ctx, s, to) })
}

func (e leverEngine) Measure(ctx context.Context, x shard.Exam, to io.Writer) error {
	if e.levers.exam != nil {
		x.Weights = slices.Clone(x.Weights)
		e.levers.exam(&x)
	}
	return e.said(to, func(to io.Writer) error { return e.Engine.Measure(ctx, x, to) })
}

func (e leverEngine) said(to io.Writer, do func(to io.Writer) error) error {
	var text bytes.Buffer
	err := do(&text)
	said := text.Bytes()
	if e.levers.result != nil {
		said, err = e.levers.result(said, err)
	}
	if err != nil {
		return err
	}
	_, err = to.Write(said)
	return err
}
