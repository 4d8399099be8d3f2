package meter

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
)

// TestAutomaticCurve looks at the measurements of eval.every = -1: about 20 of them, on
// the same clients each time, for at most 5 % of the multiply-adds of the training.
func TestAutomaticCurve(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"long":           func(c *config.Config) { c.Rounds = 200 },
		"short":          func(c *config.Config) { c.Rounds = 30 },
		"many epochs":    func(c *config.Config) { c.Rounds, c.Client.Epochs = 30, 20 },
		"few steps":      func(c *config.Config) { c.Rounds, c.Client.Steps, c.Client.Batch = 100, 1, 2 },
		"other clients":  func(c *config.Config) { c.Rounds, c.Eval.EveryClients = 60, 4 },
		"with patience":  func(c *config.Config) { c.Rounds, c.Eval.Patience = 60, 100 },
		"new clients":    func(c *config.Config) { c.Rounds, c.Data.UnseenClients = 200, 20 },
		"personalized":   func(c *config.Config) { c.Rounds, c.Method = 400, "ditto" },
		"few are chosen": func(c *config.Config) { c.Rounds, c.Eval.Clients = 60, 3 },
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.Model.Name, c.Cohort, c.Data.Name, c.Data.Clients, c.Data.Samples = "logistic", 5, "glyphs", 60, 30
			change(&c)
			fed, model, err := config.Prepare(t.Context(), &c)
			if err != nil {
				t.Fatal(err)
			}
			method, err := fl.MethodByName(c.Method)
			if err != nil {
				t.Fatal(err)
			}
			e, err := fl.New(fl.Config{
				Model: model, Data: fed, Method: method, Cohort: c.Cohort, Seed: c.Seed,
				Server: &c.Server,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			m := New(Study{Config: &c, Data: fed, Model: model, Unscored: true}, e)
			if m.every < 1 {
				t.Fatal("it never measures")
			}
			if n := m.measuredSamples(nil); (n > 0) != (len(fed.Unseen) > 0) {
				t.Errorf("%d samples of %d clients that never train", n, len(fed.Unseen))
			}
			forward, train := model.FLOPs()
			trained, measured, points := 0.0, 0.0, 0
			var before []int
			for round := 1; round <= c.Rounds; round++ {
				trained += m.trainedSamples() * float64(train)
				if round%m.every != 0 {
					continue
				}
				points++
				clients := m.clients(round)
				measured += float64(m.measuredSamples(clients)) * float64(forward)
				if c.Eval.EveryClients == 0 && before != nil && !slices.Equal(before, clients) {
					t.Errorf("round %d measures clients %v, the one before %v", round, clients, before)
				}
				before = clients
			}
			if own := c.Method == "ditto"; own && (points < 5 || len(before) != fewPersonal || !m.personal) {
				t.Errorf("%d measurements on %d clients, personalized: %v", points, len(before), m.personal)
			}
			if c.Eval.EveryClients == 0 && measured > AutoShare*trained {
				t.Errorf("%d measurements take %.1f %% of the training's operations", points, 100*measured/trained)
			}
			if points > autoPoints || name == "many epochs" && points < 15 {
				t.Errorf("%d measurements in %d rounds", points, c.Rounds)
			}
		})
	}
}
