package methods

import (
	"testing"

	_ "github.com/fedfast/fedfast/data/sets"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// goldenWeights is the digest of a small federation after three rounds in which
// every term of local SGD, dropout and the server step take part. A change of
// it is a change of every result that fedfast ever gave: say so in the
// changelog.
const goldenWeights = "c79a0f405dee48caf32f73aff98b06beba1d80a9297826731aa530a7d2bbbe53"

// TestGoldenRun holds the promise that all levels train to the same
// bits.
func TestGoldenRun(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 25)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: Reptile(), Cohort: 3, Seed: 6})
	tr := e.NewTrial(2)
	plan := mixedPlan(3)
	runRounds(t, tr, plan, 3)
	if got := model.SHA256(tr.Weights()); got != goldenWeights {
		t.Errorf("level %s trains to weights %s, want %s", kernels.Current(), got, goldenWeights)
	}
}

// goldenTree is the digest after two rounds of a cohort of 20, whose changes are summed
// as a tree of groups.
const goldenTree = "3af8ca6a83c6901eb1cd3954f727160cbb0a518b933803b8ebf3c09165d4e9d9"

func TestGoldenTree(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 48, 12)
	model := fltest.SmallCNN(t, fed)
	tr := newEngine(t, fl.Config{Model: model, Data: fed, Method: Reptile(), Cohort: 20, Seed: 6}).NewTrial(2)
	runRounds(t, tr, mixedPlan(20), 2)
	if got := model.SHA256(tr.Weights()); got != goldenTree {
		t.Errorf("a cohort of 20 trains to weights %s, want %s", got, goldenTree)
	}
}

// mixedPlan gives every slot its own hyperparameters, so that tasks differ in
// length and kind.
func mixedPlan(slots int) fl.Plan {
	p := fl.Plan{Server: fl.ServerParams{LR: 0.7, Momentum: 0.5, Decay: 0.99, Weighted: true}}
	for i := range slots {
		p.Clients = append(p.Clients, begun(fl.ClientParams{
			LR: 0.02 * float64(i+1), Momentum: float64(i%3) * 0.4, WeightDecay: 1e-4 * float64(i%2),
			Mu: 0.01 * float64(i%2), Epochs: 0.5 * float64(i+1), Batch: 4 + 7*i, Dropout: 0.1 * float64(i%4), Wrap: i%2 == 1,
		}))
	}
	return p
}
