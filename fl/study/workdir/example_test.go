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

// A durable study: interrupted anywhere, the same call resumes it and ends with the
// same bits.
func ExampleTune() {
	folder, err := os.MkdirTemp("", "study")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3",
		"budget.rounds=12", "budget.trial_rounds=6", "tuner.options.eliminations=1",
	}})
	if err != nil {
		panic(err)
	}
	var first string
	for range 2 { // the second call finds the study finished
		r, err := workdir.Tune(context.Background(), filepath.Join(folder, "mine"), c, workdir.Options{
			Launcher: workdir.InProcess(plugins.Builtin()),
		})
		if err != nil {
			panic(err)
		}
		if first == "" {
			first = r.WeightsSHA256
		}
		fmt.Printf("%d rounds of %d trials, the same weights: %v\n", r.Rounds, len(r.Trials), r.WeightsSHA256 == first)
	}
	// Output:
	// 12 rounds of 3 trials, the same weights: true
	// 12 rounds of 3 trials, the same weights: true
}
