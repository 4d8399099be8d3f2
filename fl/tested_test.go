package fl

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestEvaluateSplit compares measurements on the test examples alone with whole
// evaluations.
func TestEvaluateSplit(t *testing.T) {
	fed := *fltest.OpenGlyphs(t, 12, 40)
	fed.Clients = slices.Clone(fed.Clients)
	fed.Clients[3].Test = data.View{}
	model := fltest.SmallCNN(t, &fed)
	e := newEngine(t, Config{Method: average(), Model: model, Data: &fed, Cohort: 5, Seed: 1})
	weights := e.NewTrial(0).Weights()
	for _, sample := range []int{0, 4} {
		whole, err := e.Evaluate(t.Context(), weights, EvalConfig{Sample: sample})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.EvaluateSplit(t.Context(), weights, "test", e.EvalSample(sample), EvalConfig{})
		if err != nil || !reflect.DeepEqual(got, whole.GlobalTest) {
			t.Errorf("of %d clients: %+v, %v; want %+v", sample, got, err, whole.GlobalTest)
		}
	}
}

// TestDrawTested draws for many rounds: every client with test examples is as
// likely as any other, the others never come, and the model has no say.
func TestDrawTested(t *testing.T) {
	fed := *fltest.OpenGlyphs(t, 12, 40)
	fed.Clients = slices.Clone(fed.Clients[:9])
	for _, none := range []int{0, 3, 8} {
		fed.Clients[none].Test = data.View{}
	}
	e := newEngine(t, Config{Method: average(), Model: fltest.SmallCNN(t, &fed), Data: &fed, Cohort: 5, Seed: 1})
	const n, rounds, tested = 2, 900, 6
	counts := make([]int, len(fed.Clients))
	for round := 1; round <= rounds; round++ {
		ids := e.DrawTested(n, round)
		if len(ids) != n || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != n ||
			!slices.Equal(ids, e.DrawTested(n, round)) {
			t.Fatalf("round %d draws %v", round, ids)
		}
		for _, id := range ids {
			counts[id]++
		}
	}
	const mean = float64(n*rounds) / tested
	for id, count := range counts {
		if fed.Clients[id].Test.Len() == 0 && count > 0 || fed.Clients[id].Test.Len() > 0 &&
			math.Abs(float64(count)-mean) > 5*math.Sqrt(mean) {
			t.Errorf("client %d with %d test examples was drawn %d times, expected about %v", id,
				fed.Clients[id].Test.Len(), count, mean)
		}
	}
	if all := e.DrawTested(50, 1); !slices.Equal(all, []int{1, 2, 4, 5, 6, 7}) {
		t.Errorf("all clients with test examples are %v", all)
	}
	if other := newEngine(t, Config{
		Method: average(), Model: fltest.SmallCNN(t, &fed), Data: &fed, Cohort: 5,
		Seed: 2,
	}); slices.Equal(other.DrawTested(n, 7), e.DrawTested(n, 7)) &&
		slices.Equal(other.DrawTested(n, 8), e.DrawTested(n, 8)) {
		t.Error("the seed draws nothing")
	}
}
