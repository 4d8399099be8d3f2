package fl_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn/models"
)

// Train a small federation of the embedded set for ten rounds of FedAvg and
// measure it on every client.
func Example() {
	ctx := context.Background()
	fed, err := data.Open(ctx, data.Config{Name: "glyphs", Clients: 30, Samples: 50, Seed: 1})
	check(err)
	model, err := models.New("logistic", models.Options{Classes: fed.Classes})
	check(err)
	engine, err := fl.New(fl.Config{Model: model, Data: fed, Cohort: 10, Seed: 1})
	check(err)
	defer engine.Close()
	clients := []fl.ClientParams{{LR: 0.005, Epochs: 1, Batch: 10, Dropout: fl.OwnDropout}}
	trial := engine.NewTrial(0)
	for range 10 {
		round, err := trial.Round(ctx, fl.Plan{Server: fl.DefaultServerParams(), Clients: clients})
		check(err)
		if round.Round == 9 {
			fmt.Println("below a guess among 62 classes:", round.TrainLoss < math.Log(62))
		}
	}
	scores, err := engine.Evaluate(ctx, trial.Weights(), fl.EvalConfig{Clients: clients})
	check(err)
	fmt.Println("rounds:", trial.Rounds(), "clients measured:", scores.GlobalTest.Clients)
	// Output:
	// below a guess among 62 classes: true
	// rounds: 10 clients measured: 30
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
