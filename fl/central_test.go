package fl

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestCentral measures a model on a test set of no client, which must be what a client
// that holds the set measures, with any number of workers.
func TestCentral(t *testing.T) {
	fed := *fltest.OpenGlyphs(t, 3, 800)
	fed.Clients = slices.SortedFunc(slices.Values(fed.Clients),
		func(a, b data.Client) int { return a.Train.Len() - b.Train.Len() })
	test := fed.Clients[2].Train
	if test.Len() <= centralPart {
		t.Fatalf("%d examples are one part", test.Len())
	}
	fed.Clients = fed.Clients[:2]
	for i := range fed.Clients {
		fed.Clients[i].Test = data.View{}
	}
	held := fed
	held.Clients = slices.Clone(fed.Clients)
	held.Clients[1].Test = test
	fed.Test = test
	model := fltest.SmallCNN(t, &fed)
	clients := []ClientParams{hyper.DefaultClient()}
	evaluate := func(fed *data.Federation, workers int) (*Evaluation, Summary) {
		e := newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 2, Seed: 1, Workers: workers})
		weights := e.NewTrial(0).Weights()
		all, err := e.Evaluate(t.Context(), weights, EvalConfig{Clients: clients, Sample: 1})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := e.EvaluateSplit(t.Context(), weights, "test", e.EvalSample(0), EvalConfig{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = e.Predict(t.Context(), weights, []string{"test"}, func(p Predictions) error {
			if n += len(p.Labels); len(p.Labels) > 0 && p.Client != map[bool]int{true: -1, false: 1}[fed.Test.Len() > 0] {
				t.Errorf("%d predictions of client %d", len(p.Labels), p.Client)
			}
			return nil
		})
		if err != nil || n != test.Len() {
			t.Errorf("%d predictions, %v; there are %d test examples", n, err, test.Len())
		}
		return all, alone
	}
	_, want := evaluate(&held, 1)
	got, alone := evaluate(&fed, 1)
	again, _ := evaluate(&fed, 3)
	g := got.GlobalTest
	if !g.Central || g.Examples != test.Len() || math.Abs(g.Error-want.Error) > 1e-12 ||
		math.Abs(g.Loss-want.Loss) > 1e-6*want.Loss || want.Error == 0 {
		t.Errorf("measured %+v, want %+v", g, want)
	}
	if !reflect.DeepEqual(got, again) || !reflect.DeepEqual(alone, g) {
		t.Errorf("measured %+v, alone %+v, by three workers %+v", got, alone, again)
	}
	if got.PersonalizedTest.Clients != 0 || got.PersonalizedVal.Clients != 1 {
		t.Errorf("personalized models are measured on %d clients, %d for validation",
			got.PersonalizedTest.Clients, got.PersonalizedVal.Clients)
	}
}
