package recorded

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/tuner/sobol"
	"github.com/fedfast/fedfast/tuners"
)

// gridPoints is how many recorded rounds Every leaves a table about.
const gridPoints = 30

// Every is the default number of rounds between the recorded ones.
func Every(rounds int) int { return max(1, (rounds+gridPoints-1)/gridPoints) }

// Training returns the study that trains a number of configurations of the space of a study,
// from 0 on, for some rounds each, and records every client's errors at some of them: of the global
// model, or with tuners.TargetPersonalized as the target of the personalized ones.
func Training(c *config.Config, target string, configurations, rounds, every int) (*config.Config, error) {
	t := *c
	switch {
	case c.Private():
		return nil, &key.Error{Key: "dp.epsilon", Problem: ": a table shows errors of single clients, which is not private; leave it out"}
	case !c.Budget.InRounds():
		return nil, &key.Error{Key: c.Budget.Key(), Problem: ": a table is of rounds; leave it out"}
	case c.ToGoal():
		return nil, &key.Error{Key: "objective", Problem: fmt.Sprintf(" = %q: a table is of rounds; leave it out", c.Objective)}
	case len(c.Space) == 0:
		return nil, &key.Error{Key: "space", Problem: ": it is empty; a table needs at least one dimension, such as \"client.lr\" = {log10 = [-4, 0]}"}
	}
	t.Budget = config.Budget{Rounds: configurations * rounds, TrialRounds: rounds}
	t.Tuner, t.ClientTuner = config.Tuner{Name: sobol.Name, Parallel: 1, Allow: c.Tuner.Allow}, config.ClientTuner{}
	t.Target, t.Objective, t.Score, t.Select = tuners.TargetGlobal, tuners.MetricError, config.Score{}, config.SelectPaper
	t.Objectives, t.Constraints, t.Cohorts = nil, nil, config.CohortsOwn
	t.Eval = config.Default().Eval
	t.Eval.Personalized, t.Eval.Every, t.Eval.RecordEvery, t.Eval.EveryTarget = false, 0, every, target
	return &t, t.CheckFor(config.ModeTune)
}

// Launcher launches the tuner of Training.
func Launcher() workdir.Launcher {
	return workdir.InProcess(map[string]tuners.Tuner{sobol.Name: sobol.Tuner})
}

// New makes the table of studies that Training has configured, by the study c that was asked for.
// They are in the order of their seeds.
func New(ctx context.Context, c *config.Config, fed *data.Federation, dirs []string, seeds []uint64) (*Table, error) {
	t := &Table{Head: Head{Format: format, Fedfast: workdir.ThisVersion(), Name: c.Name, Data: fed.Fingerprint, Space: c.Space, Central: fed.Test.Len()}}
	for i := range fed.Clients {
		client := &fed.Clients[i]
		t.Clients = append(t.Clients, Client{ID: client.ID, Val: client.Val.Len(), Test: client.Test.Len()})
	}
	for i, dir := range dirs {
		if err := t.add(ctx, dir, seeds[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return t, t.replays(c, seeds[0])
}

// add adds the trainings of a study.
func (t *Table) add(ctx context.Context, dir string, seed uint64) error {
	v, err := store.Look(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }() // it was read only
	stored, err := result.Read(ctx, v)
	if err != nil {
		return err
	}
	if stored.Tune == nil {
		return errors.New("the study has not ended")
	}
	t.Config, t.Measure = stored.Config, stored.Tune.Measure
	recordings, err := study.Recordings(ctx, v, seed)
	if err != nil {
		return err
	}
	first := len(t.Configurations) == 0
	for _, r := range recordings {
		if first {
			t.Configurations = append(t.Configurations, r.Params)
		}
		row := Row{Config: r.Trial, Seed: seed, Rounds: r.Rounds, Failed: r.Failed, Diverged: r.Diverged, Dropped: r.Dropped, Recorded: []int{}, SHA256: []string{}}
		for _, p := range r.Points {
			row.Recorded, row.SHA256 = append(row.Recorded, p.Round), append(row.SHA256, p.SHA256)
		}
		t.Rows, t.Trained = append(t.Rows, row), append(t.Trained, r)
	}
	return nil
}

// replays makes of the configuration that trained the one that replays begin from: with the
// tuner, the objective and the scores of the study that was asked for, and as many rounds as
// the table has of one seed.
func (t *Table) replays(c *config.Config, seed uint64) error {
	trained, err := config.Load(config.Source{Text: t.Config})
	if err != nil {
		return err
	}
	r := *trained
	if r.Target = trained.Eval.EveryTarget; r.Target == tuners.TargetPersonalized {
		t.Target, t.Central = r.Target, 0 // only clients have such models
	}
	r.Seed, r.Tuner, r.Objective, r.Score, r.Select, r.Finalists = seed, c.Tuner, c.Objective, c.Score, c.Select, c.Finalists
	r.Objectives, r.Constraints = c.Objectives, c.Constraints
	t.Rounds, t.RecordEvery = trained.Budget.TrialRounds, trained.Eval.RecordEvery
	r.Budget = config.Budget{Rounds: len(t.Configurations) * t.Rounds, TrialRounds: t.Rounds}
	text, err := config.Encode(&r)
	t.Config = string(text)
	return err
}

// Example is the name of the built-in table: a small one, of data that are drawn, which its study
// file says how to record.
const Example = "example"

//go:embed example
var builtin embed.FS

// example reads it.
func example() (*Table, error) {
	return read("example/example"+Suffix, builtin.ReadFile, func(path string) (parquet.Source, error) {
		f, err := builtin.Open(path)
		if err != nil {
			return nil, err
		}
		return f.(parquet.Source), nil
	})
}
