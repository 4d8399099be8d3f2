package cluster

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
)

// trainer is what a worker trains with: a study's engine, or that of a Simulation.
type trainer interface {
	Begin(trial int) job
	Resume(s *fl.Snapshot) (job, error)
	MostBytes() int64
	Close()
}

// job is a trial at a worker, as study.Job is.
type job interface {
	Rounds() int
	Round(ctx context.Context, plan fl.Plan, observed []string) ([]byte, error)
	Keep()
	Kept() *fl.Snapshot
	State() *fl.Snapshot
}

// engine is a study's.
type engine struct{ *study.Worker }

// Begin begins a trial.
func (e engine) Begin(trial int) job { return e.Worker.Begin(trial) }

// Resume goes on with a trial.
func (e engine) Resume(s *fl.Snapshot) (job, error) {
	j, err := e.Worker.Resume(s)
	if err != nil {
		return nil, err
	}
	return j, nil
}
