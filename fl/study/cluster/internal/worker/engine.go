package worker

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
)

// Engine trains trials and parts of rounds of one study, as a study.Worker does.
type Engine interface {
	Begin(trial int) Job
	Resume(s *fl.Snapshot) (Job, error)
	Train(ctx context.Context, s shard.Round, to io.Writer) error
	Measure(ctx context.Context, x shard.Exam, to io.Writer) error
	MostBytes() int64
	Close()
}

// Job is a trial on a worker, as a study.Job is.
type Job interface {
	Rounds() int
	Round(ctx context.Context, plan fl.Plan, observed []string) ([]byte, error)
	Keep()
	Kept() *fl.Snapshot
	State() *fl.Snapshot
	Weights() []float32
}

// Opener opens the engine for the text of a study file, or for one training without scores
// if plain is set. The facts are what the coordinator compares.
type Opener func(ctx context.Context, text string, plain bool) (Engine, study.Facts, error)

// Studies returns the opener of real engines.
func Studies(o Options) Opener {
	o.fill()
	return func(ctx context.Context, text string, plain bool) (Engine, study.Facts, error) {
		s, err := setup(ctx, o, text)
		if err != nil {
			return nil, study.Facts{}, err
		}
		s.Unscored = plain
		w, err := study.NewWorker(*s)
		if err != nil {
			return nil, study.Facts{}, err
		}
		facts, err := w.Facts(ctx)
		if err != nil {
			w.Close()
			return nil, study.Facts{}, err
		}
		return engine{w}, facts, nil
	}
}

// setup opens the data of a study and builds its model.
func setup(ctx context.Context, o Options, text string) (*study.Setup, error) {
	c, err := config.Load(config.Source{Text: text})
	if err != nil {
		return nil, fmt.Errorf("the study's configuration: %w", err)
	}
	if o.Data != "" {
		if err := c.Move([]string{"data.path=" + strconv.Quote(o.Data)}, ""); err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		if err := c.Absolute(); err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
	}
	s := &study.Setup{Config: *c, Workers: o.Workers}
	s.Data, s.Model, err = config.Prepare(ctx, &s.Config)
	return s, err
}

// engine adapts study.Worker to Engine.
type engine struct{ *study.Worker }

// Begin starts a trial.
func (e engine) Begin(trial int) Job { return e.Worker.Begin(trial) }

// Resume resumes a trial.
func (e engine) Resume(s *fl.Snapshot) (Job, error) {
	j, err := e.Worker.Resume(s)
	if err != nil {
		return nil, err
	}
	return j, nil
}
