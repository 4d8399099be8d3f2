package fl

import (
	"testing"

	"github.com/fedfast/fedfast/fl/internal/fltest"
)

func TestWeightsSHA256FollowsTheWeights(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 3, 30)
	model := fltest.SmallCNN(t, fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 1, Seed: 8})
	w := e.NewTrial(0).Weights()
	before := WeightsSHA256(model, w)
	if again := WeightsSHA256(model, e.NewTrial(0).Weights()); again != before {
		t.Errorf("equal weights have the digests %s and %s", before, again)
	}
	if other := WeightsSHA256(model, e.NewTrial(1).Weights()); other == before {
		t.Error("the weights of two trials have one digest")
	}
}
