package fl

import (
	"testing"

	"github.com/fedfast/fedfast/kernels"
)

// goldenWeights is the digest of a small federation after three rounds in which
// every term of local SGD, dropout and the server step take part. A change of
// it is a change of every result that fedfast ever gave: say so in the
// changelog.
const goldenWeights = "c79a0f405dee48caf32f73aff98b06beba1d80a9297826731aa530a7d2bbbe53"

// TestGoldenRun holds the promise that AVX2, AVX-512 and NEON train to the same
// bits.
func TestGoldenRun(t *testing.T) {
	level := kernels.Current()
	if level == kernels.Generic {
		t.Skip("the plain Go level rounds in its own way")
	}
	fed := openGlyphs(t, 6, 25)
	model := smallCNN(t, fed)
	e := newEngine(t, Config{Model: model, Data: fed, Method: reptile{}, Cohort: 3, Seed: 6})
	tr := e.NewTrial(2)
	plan := mixedPlan(3)
	runRounds(t, tr, plan, 3)
	if got := WeightsSHA256(model, tr.Weights()); got != goldenWeights {
		t.Errorf("level %s trains to weights %s, want %s", level, got, goldenWeights)
	}
}
