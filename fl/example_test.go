package fl_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
	"github.com/fedfast/fedfast/nn/models"
)

// Train a small federation of the embedded set for ten rounds of FedAvg, then
// measure it on every client.
func Example() {
	ctx := context.Background()
	fed, err := data.Open(ctx, data.Config{Name: "fashion-small", Clients: 30, Samples: 50, Seed: 1})
	check(err)
	model, err := models.New("logistic", models.Options{Classes: fed.Classes})
	check(err)
	engine, err := fl.New(fl.Config{Model: model, Data: fed, Method: methods.FedAvg(), Cohort: 10, Seed: 1})
	check(err)
	defer engine.Close()
	client, server := methods.FedAvg().Defaults()
	client.LR, client.Batch = 0.005, 10
	plan := fl.Plan{Server: server, Clients: []fl.ClientParams{client}}
	trial := engine.NewTrial(0)
	for trial.Rounds() < 10 {
		_, err := trial.Round(ctx, plan)
		check(err)
	}

	scores, err := engine.Evaluate(ctx, trial.Weights(), fl.EvalConfig{})
	check(err)
	fmt.Println("clients measured:", scores.GlobalTest.Clients)
	fmt.Println("better than a guess among 62 classes:", scores.GlobalTest.Loss < math.Log(62))
	// Output:
	// clients measured: 30
	// better than a guess among 62 classes: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
