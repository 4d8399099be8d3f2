package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// Worker trains trials of a study whose tuners and record are elsewhere, behind a
// Trainer. Its records and weights are those that the study itself would have. It
// may be used from several goroutines.
type Worker struct {
	setup  *Setup
	engine *fl.Engine
	meter  *meter.Meter
	layout [32]byte
}

// NewWorker starts the engine for a set-up, of which it needs Config, Data, Model
// and Workers. Close ends it.
func NewWorker(s Setup) (*Worker, error) {
	s.Tuner, s.Trainer, s.Config.Tuner.Parallel = nil, nil, 1
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	return &Worker{setup: &s, engine: engine, meter: meter.New(s.measured(), engine), layout: engine.Layout()}, nil
}

// Close ends the engine.
func (w *Worker) Close() { w.engine.Close() }

// MostBytes is the limit of the engine, see fl.Engine.
func (w *Worker) MostBytes() int64 { return w.engine.MostBytes() }

// Train trains a shard of a round of a trial that is elsewhere and writes what came of it.
func (w *Worker) Train(ctx context.Context, s shard.Round, to io.Writer) error {
	return w.engine.Train(ctx, s, to)
}

// Measure has clients measure a model and writes their scores.
func (w *Worker) Measure(ctx context.Context, x shard.Exam, to io.Writer) error {
	return w.engine.Measure(ctx, x, to)
}

// Facts tell whether two processes train the same.
type Facts struct {
	// Data describes the data and the weights to begin from.
	Data string `json:"data"`
	// Layout is the digest of the model's memory layout.
	Layout string `json:"layout"`
	// Golden is the digest of goldenRounds rounds and of the weights after them.
	Golden string `json:"golden"`
}

// goldenRounds is how many rounds two processes train to see whether they come to
// the same bits.
const goldenRounds = 3

// Facts trains a few rounds with the configuration's own hyperparameters to see
// what bits they have here.
func (w *Worker) Facts(ctx context.Context) (Facts, error) {
	record, err := record.DataOf(&w.setup.Config, w.setup.Data, w.setup.Model)
	if err != nil {
		return Facts{}, err
	}
	f := Facts{Data: record.String(), Layout: hex.EncodeToString(w.layout[:])}
	if record.Start != "" {
		f.Data += ", beginning from weights " + record.Start
	}
	if record.Fleet != "" {
		f.Data += ", with fleet files of SHA-256 " + record.Fleet
	}
	base := w.setup.Config.Hyper()
	plan := fl.Plan{
		Server: base.Server, Time: base.Time, Sampler: base.Sampler, Update: base.Update,
		Aggregator: base.Aggregator, Clients: []fl.ClientParams{base.Client}, Probes: w.setup.scoreProbes(),
	}
	sum := sha256.New()
	j := w.Begin(0)
	for range goldenRounds {
		record, err := j.Round(ctx, plan, nil)
		if _, panicked := errors.AsType[*shard.PanicError](err); err != nil && !panicked {
			return f, err
		}
		sum.Write(record)
	}
	sum.Write([]byte(w.setup.Model.SHA256(j.trial.Weights())))
	f.Golden = hex.EncodeToString(sum.Sum(nil))
	return f, nil
}

// Job is the training of one trial by a Worker, for one goroutine at a time.
type Job struct {
	worker *Worker
	trial  *fl.Trial
	kept   *fl.Snapshot
}

// Begin begins a trial from its first weights.
func (w *Worker) Begin(trial int) *Job { return &Job{worker: w, trial: w.engine.NewTrial(trial)} }

// Resume goes on with a trial from a snapshot.
func (w *Worker) Resume(s *fl.Snapshot) (*Job, error) {
	tr, err := w.engine.Restore(*s)
	if err != nil {
		return nil, err
	}
	return &Job{worker: w, trial: tr}, nil
}

// Rounds returns how many rounds the trial has run.
func (j *Job) Rounds() int { return j.trial.Rounds() }

// Round runs a round and returns its record, with the probes that the client tuner
// observes; what the client tuner set is added by the study.
func (j *Job) Round(ctx context.Context, plan fl.Plan, observed []string) ([]byte, error) {
	rec, err := j.worker.meter.Round(ctx, j.trial, plan, observed)
	if err != nil {
		return nil, err
	}
	return json.Marshal(rec)
}

// Keep keeps the model as it is now, instead of the one kept before.
func (j *Job) Keep() {
	var weights []float32
	if j.kept != nil {
		weights = j.kept.Weights
	}
	w := j.worker
	j.kept = &fl.Snapshot{
		Model: w.setup.Model.Name(), Method: w.setup.Config.Method, Layout: w.layout,
		Number: j.trial.Number(), Round: j.trial.Rounds(), Weights: append(weights[:0], j.trial.Weights()...),
	}
	j.trial.State().AddTo(j.kept)
}

// Kept returns the model that was kept, nil before there was one. It changes with
// the next Keep.
func (j *Job) Kept() *fl.Snapshot { return j.kept }

// Weights returns the trial's weights. They change with the next round.
func (j *Job) Weights() []float32 { return j.trial.Weights() }

// State returns the trial's state.
func (j *Job) State() *fl.Snapshot {
	s := j.trial.Snapshot()
	return &s
}
