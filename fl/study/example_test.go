package study_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/plugins"
)

// A study in memory; package workdir has durable ones.
func ExampleTune() {
	c, err := config.Load(config.Source{Preset: "quickstart", Tuner: "random", ClientTuner: "none", Sets: []string{
		"model=logistic", "data.clients=8", "data.samples=30", "cohort=3", "budget.rounds=6", "budget.trial_rounds=3",
	}})
	if err != nil {
		panic(err)
	}
	fed, model, err := config.Prepare(context.Background(), c)
	if err != nil {
		panic(err)
	}
	r, err := study.Tune(context.Background(), study.Setup{
		Config: *c, Data: fed, Model: model,
		Tuner: plugins.Builtin()["random"],
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(r.Trials), "trials of", r.Rounds/len(r.Trials), "rounds")
	// Output: 2 trials of 3 rounds
}
