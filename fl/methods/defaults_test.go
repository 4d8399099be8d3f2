package methods

import (
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// deepOf is modelOf, but with four layers for methods that cut channels or train a body.
func deepOf(t *testing.T, m fl.Method, fed *data.Federation) *nn.Model {
	t.Helper()
	switch m.Name {
	case "heterofl", "fedrolex", "fedbabu":
		model, err := nn.NewModel("deep", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes,
			nn.Conv2D{Filters: 16, Kernel: 5, Stride: 2}, nn.ReLU{}, nn.Conv2D{Filters: 32, Kernel: 3},
			nn.ReLU{}, nn.MaxPool{Size: 2},
			nn.Dense{Units: 64}, nn.ReLU{}, nn.Dense{Units: fed.Classes})
		if err != nil {
			t.Fatal(err)
		}
		return model
	}
	return modelOf(t, m, fed)
}

// TestEveryMethodLearnsAtItsDefaults holds that the training loss falls.
func TestEveryMethodLearnsAtItsDefaults(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 10, 150)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		const rounds = 10
		c, s := m.Defaults()
		e := newEngine(t, fl.Config{Model: deepOf(t, m, fed), Data: fed, Method: m, Cohort: 10, Seed: 4, Server: &s})
		r := runRounds(t, e.NewTrial(0), fl.Plan{Server: s, Clients: []fl.ClientParams{c}}, rounds)
		dropped := 0
		for i := range r {
			dropped += r[i].Dropped
		}
		if first, last := r[0].TrainLoss, r[rounds-1].TrainLoss; !(last < first-0.02) || first > 5 || dropped > 0 {
			t.Errorf("the training loss goes from %.4f to %.4f, and %d results are dropped", first, last, dropped)
		} else {
			t.Logf("the training loss goes from %.4f to %.4f", first, last)
		}
	})
}
