package fl

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestLost has clients whose rates break their training at their second step or later,
// beside one that learns: what a round measures and the weights are as for clients
// that take all steps, while fewer are taken.
func TestLost(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 60)
	var clients []ClientParams
	for i, rate := range []float64{1e25, 0.05, 1e8, 1e22} {
		c := hyper.DefaultClient()
		c.LR, c.Momentum, c.Batch, c.Epochs, c.Dropout, c.Wrap = rate, 0.5, 7, 1.5, 0.1, i%2 == 1
		clients = append(clients, begun(c))
	}
	clients[2].Optimizer, clients[2].Momentum = "adam", 0
	plan := Plan{Server: hyper.DefaultServer(), Clients: clients, Probes: []string{
		"val_loss_after",
		"delta_norm", "seconds_simulated",
	}}
	for name, model := range map[string]*nn.Model{
		"cnn":         fltest.SmallCNN(t, fed),
		"transformer": fltest.SmallTransformer(t, fed),
	} {
		t.Run(name, func(t *testing.T) {
			train := func(method Method) (string, int64) {
				var steps atomic.Int64
				e := newEngine(t, Config{
					Model: model, Data: fed, Method: method, Cohort: 4, Seed: 3, Workers: 2,
					NewTrainer: func() trainer.Trainer { return fltest.CountedSteps{Workspace: model.NewWorkspace(), Steps: &steps} },
				})
				tr := e.NewTrial(0)
				var out strings.Builder
				for _, r := range runRounds(t, tr, plan, 2) {
					fmt.Fprintf(&out, "%+v\n", *r)
					if r.Dropped < 1 {
						t.Error("no client was left out")
					}
				}
				fmt.Fprint(&out, tr.Weights())
				return out.String(), steps.Load()
			}
			all, most := train(atOnce())
			got, steps := train(average())
			if got != all {
				t.Errorf("with clients given up:\n%.2000s\nwith all their steps:\n%.2000s", got, all)
			}
			if steps >= most {
				t.Errorf("%d steps are taken, all are %d: nobody was given up", steps, most)
			}
		})
	}
}
