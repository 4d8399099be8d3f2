package cluster

import (
	"context"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/worker"
)

// levers are the options of a worker in a test, and what is made of its rounds.
type levers struct {
	WorkerOptions
	change func(record []byte) []byte // changes its records
	slow   time.Duration              // delays each round
	stall  func(rounds int)           // called before each round, with their number so far
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
	record, err := j.Job.Round(ctx, plan, observed)
	if err != nil {
		return nil, err
	}
	if l.rounds++; l.change != nil {
		record = l.change(record)
	}
	return record, nil
}
