package fl

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// TestEvaluationFoldsTheClients measures each client alone and folds the scores
// by hand. One client has no test examples, one trains never.
func TestEvaluationFoldsTheClients(t *testing.T) {
	fed := *fltest.OpenGlyphs(t, 14, 60)
	fed.Unseen = fed.Clients[:1]
	fed.Clients = fed.Clients[1:]
	fed.Clients[0].Test = data.View{}
	model := fltest.SmallCNN(t, &fed)
	clients := []ClientParams{hyper.DefaultClient()}
	e := newEngine(t, Config{Method: average(), Model: model, Data: &fed, Cohort: 5, Seed: 1})
	tr := e.NewTrial(0)
	runRounds(t, tr, Plan{Server: hyper.DefaultServer(), Clients: clients}, 20)
	got, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: clients})
	if err != nil {
		t.Fatal(err)
	}
	var wrong, plain, loss, n, tested float64
	for i := range fed.Clients {
		one := fed
		one.Clients, one.Unseen = fed.Clients[i:i+1], nil
		alone, err := newEngine(t, Config{
			Method: average(), Model: model, Data: &one, Cohort: 1,
			Seed: 1,
		}).Evaluate(t.Context(), tr.Weights(), EvalConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s := alone.GlobalTest
		if s.Examples != fed.Clients[i].Test.Len() {
			t.Errorf("client %d: %d test examples measured of %d", i, s.Examples, fed.Clients[i].Test.Len())
		}
		if s.Examples == 0 {
			continue
		}
		wrong += s.Error * float64(s.Examples)
		loss += s.Loss * float64(s.Examples)
		n += float64(s.Examples)
		plain += s.Error
		tested++
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	g := got.GlobalTest
	near("weighted error", g.Error, wrong/n)
	near("weighted loss", g.Loss, loss/n)
	near("unweighted error", g.Unweighted, plain/tested)
	near("number of clients", float64(g.Clients), float64(len(fed.Clients)-1))
	if wrong/n == plain/tested {
		t.Error("the clients are too alike to tell the means apart")
	}
	u := got.Unseen
	if u.Clients != 1 || u.Examples != fed.Unseen[0].Test.Len() || !(u.Error > 0 && u.Error <= 1) {
		t.Errorf("unseen clients: %+v", u)
	}
	if got.PersonalizedTest.Loss == g.Loss {
		t.Error("the personalized models score as the global one")
	}
}

// TestEvaluationInJSON: what was measured on no client is null, never an error of 0,
// and is read back as nothing measured.
func TestEvaluationInJSON(t *testing.T) {
	want := Evaluation{GlobalTest: Summary{Score: Score{Error: 0, Loss: 0.5}, Clients: 4, Examples: 9}}
	text, err := json.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	const measured = `{"error":0,"loss":0.5,"unweighted":0,"p10":0,"p50":0,"p90":0,"worst_decile":0,"variance":0,"clients":4,"examples":9}`
	if wantText := `{"global_val":null,"global_test":` + measured +
		`,"personalized_val":null,"personalized_test":null,"unseen":null,"unseen_adapted":null}`; string(text) != wantText {
		t.Errorf("written as %s, want %s", text, wantText)
	}
	var got Evaluation
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read back as %+v, %v", got, err)
	}
}

// TestSpreadOfErrors, by hand: of 20 clients the worst two have a mean error of 0.75.
func TestSpreadOfErrors(t *testing.T) {
	clients := make([]clientScores, 20)
	for i := range clients {
		clients[i].globalTest = setScore{Score: Score{Error: 0.2}, n: 5 + i}
	}
	clients[3].globalTest.Error, clients[9].globalTest.Error = 0.5, 1
	s := summarize(clients, func(c *clientScores) setScore { return c.globalTest })
	mean, right := (18*0.2+0.5+1)/20, 18*0.8+0.5
	square := func(x float64) float64 { return x * x }
	variance := (18*square(0.2-mean) + square(0.5-mean) + square(1-mean)) / 20
	if worst, _, _ := evenness(slices.Repeat([]float64{1}, 490), 1); worst != 1 {
		t.Errorf("49 of 490 clients with an error of 1 have one of %v", worst)
	}
	if d := math.Abs(s.Worst - 0.75); d > 1e-12 {
		t.Errorf("the worst tenth has a mean error of %v", s.Worst)
	}
	if d := math.Abs(s.Variance - variance); d > 1e-12 {
		t.Errorf("variance %v, want %v", s.Variance, variance)
	}
	if want := right * right / (20 * (18*0.64 + 0.25)); s.Jain == nil || math.Abs(*s.Jain-want) > 1e-12 {
		t.Errorf("Jain's index %v, want %v", s.Jain, want)
	}
	for i := range clients {
		clients[i].globalTest.Error = 1
	}
	if s := summarize(clients, func(c *clientScores) setScore { return c.globalTest }); s.Jain != nil {
		t.Errorf("Jain's index without any right answer: %v", *s.Jain)
	}
}

// TestEvaluationInBF16 measures weights that change in place with one engine, and with one
// engine each.
func TestEvaluationInBF16(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 14, 40)
	if len(fed.Clients) < frozenBatches {
		t.Fatalf("%d clients are too few to keep what is made of weights", len(fed.Clients))
	}
	model := fltest.SmallCNN(t, fed).WithPrecision(nn.BF16)
	clients := []ClientParams{hyper.DefaultClient()}
	evaluate := func(e *Engine, w []float32) Evaluation {
		t.Helper()
		got, err := e.Evaluate(t.Context(), w, EvalConfig{Clients: clients})
		if err != nil {
			t.Fatal(err)
		}
		return *got
	}
	engine := func() *Engine {
		return newEngine(t, Config{Method: average(), Model: model, Data: fed, Cohort: 2, Seed: 1, Workers: 1})
	}
	one, w := engine(), model.NewParams()
	var last Evaluation
	for seed := range uint64(3) {
		model.Init(w, seed)
		got, want := evaluate(one, w), evaluate(engine(), w)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("weights %d: %+v, want %+v", seed, got, want)
		}
		if got.GlobalTest.Loss == last.GlobalTest.Loss {
			t.Errorf("weights %d measure as the ones before", seed)
		}
		last = got
	}
}
