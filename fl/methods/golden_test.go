package methods

import (
	"testing"

	_ "github.com/fedfast/fedfast/data/sets"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/fltest"
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
	e := newEngine(t, fl.Config{Model: model, Data: fed, Method: Reptile{}, Cohort: 3, Seed: 6})
	tr := e.NewTrial(2)
	plan := mixedPlan(3)
	runRounds(t, tr, plan, 3)
	if got := fl.WeightsSHA256(model, tr.Weights()); got != goldenWeights {
		t.Errorf("level %s trains to weights %s, want %s", kernels.Current(), got, goldenWeights)
	}
}

// goldenChain is the digest after two rounds of a cohort of 20 as versions before the
// tree of sums trained it: studies that they began go on with such bits.
const goldenChain = "5c467c51636680fc2eb1b033301647f9b4d5075c3935a05cc23184aefbc14a73"

// TestGoldenChain holds that Config.Chain has the bits of earlier versions, and that
// without it only cohorts of more than 16 have others.
func TestGoldenChain(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 48, 12)
	model := fltest.SmallCNN(t, fed)
	trained := func(cohort int, chain bool) string {
		e := newEngine(t, fl.Config{Model: model, Data: fed, Method: Reptile{}, Cohort: cohort, Seed: 6, Chain: chain})
		tr := e.NewTrial(2)
		runRounds(t, tr, mixedPlan(cohort), 2)
		return fl.WeightsSHA256(model, tr.Weights())
	}
	if got := trained(20, true); got != goldenChain {
		t.Errorf("one chain trains to weights %s, want %s", got, goldenChain)
	}
	if trained(20, false) == goldenChain || trained(16, false) != trained(16, true) {
		t.Error("the tree of sums has the bits of a chain where it must not, or others where it must")
	}
}

// mixedPlan gives every slot its own hyperparameters, so that tasks differ in
// length and kind.
func mixedPlan(slots int) fl.Plan {
	p := fl.Plan{Server: fl.ServerParams{LR: 0.7, Momentum: 0.5, Decay: 0.99}}
	for i := range slots {
		p.Clients = append(p.Clients, begun(fl.ClientParams{
			LR: 0.02 * float64(i+1), Momentum: float64(i%3) * 0.4, WeightDecay: 1e-4 * float64(i%2),
			Mu: 0.01 * float64(i%2), Epochs: 0.5 * float64(i+1), Batch: 4 + 7*i, Dropout: 0.1 * float64(i%4), Wrap: i%2 == 1,
		}))
	}
	return p
}
