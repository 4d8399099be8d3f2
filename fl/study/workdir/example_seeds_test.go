package workdir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/plugins"
)

// loaded returns a small configuration, and a new directory that remove removes.
func loaded() (c *config.Config, dir string, remove func()) {
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Tuner: "random", Sets: []string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "rounds=4", "budget.rounds=12",
		"budget.trial_rounds=6",
	}})
	if err != nil {
		panic(err)
	}
	if dir, err = os.MkdirTemp("", "study"); err != nil {
		panic(err)
	}
	return c, dir, func() { _ = os.RemoveAll(dir) }
}

// One configuration is trained with three seeds. The same call with more seeds trains
// only the new ones.
func ExampleRunSeeds() {
	c, dir, remove := loaded()
	defer remove()
	results, err := workdir.RunSeeds(context.Background(), dir, c, 3, workdir.Options{})
	if err != nil {
		panic(err)
	}
	for i, r := range results {
		path := filepath.Base(workdir.SeedDir(dir, c.Seed+uint64(i)))
		fmt.Printf("%s: %d rounds on %d clients\n", path, r.Rounds, r.Evaluation.GlobalTest.Clients)
	}
	// Output:
	// seed-0: 4 rounds on 8 clients
	// seed-1: 4 rounds on 8 clients
	// seed-2: 4 rounds on 8 clients
}

// After the study as many random configurations are trained as its rounds pay for.
func ExampleTune_baseline() {
	c, dir, remove := loaded()
	defer remove()
	r, err := workdir.Tune(context.Background(), filepath.Join(dir, "compared"), c, workdir.Options{
		Launcher: workdir.InProcess(plugins.Builtin()), Baseline: workdir.EqualRounds,
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d trials, compared with %d random configurations\n", len(r.Trials), len(r.Baseline.Trials))
	// Output: 2 trials, compared with 2 random configurations
}

// A quarter of the work shows whether a study runs through.
func ExampleScale() {
	c, _, remove := loaded()
	defer remove()
	words, err := workdir.Scale(context.Background(), c, config.ModeTune, 0.25, workdir.InProcess(plugins.Builtin()))
	if err != nil {
		panic(err)
	}
	fmt.Println(words)
	// Output: by 0.25: budget.rounds 3 instead of 12, budget.trial_rounds 2 instead of 6
}

func ExampleEstimate() {
	c, _, remove := loaded()
	defer remove()
	cost, err := workdir.Estimate(context.Background(), c, config.ModeTune, workdir.Options{
		Launcher: workdir.InProcess(plugins.Builtin()), Baseline: 2,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(cost.Plan, cost.Seconds > 0, cost.Memory > 0)
	// Output: 12 rounds, then 6 rounds of the configured values, then 2 random configurations of 6 rounds true true
}
