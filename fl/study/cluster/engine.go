package cluster

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
)

// trainer is a study's engine, or that of a Simulation.
type trainer interface {
	Begin(trial int) job
	Resume(s *fl.Snapshot) (job, error)
	MostBytes() int64
	Close()
}

// job is a trial on a worker, like study.Job.
type job interface {
	Rounds() int
	Round(ctx context.Context, plan fl.Plan, observed []string) ([]byte, error)
	Keep()
	Kept() *fl.Snapshot
	State() *fl.Snapshot
}

// engine adapts study.Worker to trainer.
type engine struct{ *study.Worker }

// Begin starts a trial.
func (e engine) Begin(trial int) job { return e.Worker.Begin(trial) }

// Resume resumes a trial.
func (e engine) Resume(s *fl.Snapshot) (job, error) {
	j, err := e.Worker.Resume(s)
	if err != nil {
		return nil, err
	}
	return j, nil
}
