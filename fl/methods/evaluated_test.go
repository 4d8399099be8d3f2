package methods

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestPersonalizedRate holds that the learning rate of personalized models is
// client.lr, or client.personal_lr, whatever a schedule over rounds has come to.
func TestPersonalizedRate(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 8, 30)
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		const rounds = 3
		plan := defaultPlan(m)
		e := newEngine(t, fl.Config{
			Model: modelOf(t, m, fed), Data: fed, Method: m, Cohort: 4,
			Seed: 3, Server: &plan.Server,
		})
		tr := e.NewTrial(0)
		runRounds(t, tr, plan, rounds)
		eval := func(change func(c *fl.ClientParams)) *fl.Evaluation {
			c := plan.Clients[0]
			change(&c)
			got, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{
				Clients: []fl.ClientParams{c}, Server: &plan.Server,
				Round: rounds, State: tr.State(),
			})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		want := eval(func(*fl.ClientParams) {})
		uses := func(key string) bool {
			return slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == key })
		}
		if uses("client.lr_schedule") {
			got := eval(func(c *fl.ClientParams) { c.Kind, c.Length = "cosine", rounds })
			if !reflect.DeepEqual(got, want) {
				t.Errorf("at the end of a cosine to 0: %+v, without a schedule %+v", got.PersonalizedTest, want.PersonalizedTest)
			}
		}
		if uses("client.personal_lr") && m.Name != "ditto" { // whose own models are trained in rounds
			got := eval(func(c *fl.ClientParams) { c.PersonalLR = 0.003 })
			if again := eval(func(c *fl.ClientParams) { c.LR = 0.003 }); !reflect.DeepEqual(got, again) ||
				reflect.DeepEqual(got, want) {
				t.Errorf("at client.personal_lr = 0.003: %+v, at client.lr = 0.003 %+v, else %+v", got.PersonalizedTest,
					again.PersonalizedTest, want.PersonalizedTest)
			}
		}
	})
}

// TestEvaluationTellsTheRound: methods whose training depends on the round train
// personalized models as that of the model.
func TestEvaluationTellsTheRound(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	m, told := FedAvg(), make(chan int, 100)
	m.Local = func(l *fl.Local) error {
		told <- l.Round
		return plainSGD(l)
	}
	e := newEngine(t, fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: m, Cohort: 2, Seed: 3})
	tr := e.NewTrial(0)
	plan := defaultPlan(m)
	if _, err := e.Evaluate(t.Context(), tr.Weights(), fl.EvalConfig{Clients: plan.Clients, Round: 7}); err != nil {
		t.Fatal(err)
	}
	if n := len(told); n != len(fed.Clients) {
		t.Fatalf("%d of %d clients trained", n, len(fed.Clients))
	}
	for range fed.Clients {
		if got := <-told; got != 7 {
			t.Errorf("a client trains as in round %d, want 7", got)
		}
	}
}

// TestFedBABUScoresAtItsRate: the head is tuned at the rate of personalized models in
// the scores of rounds, too.
func TestFedBABUScoresAtItsRate(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 30)
	score := func(change func(c *fl.ClientParams)) float64 {
		plan := defaultPlan(fedBABU())
		plan.Probes = []string{"val_loss_after"}
		change(&plan.Clients[0])
		e := newEngine(t, fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: fedBABU(), Cohort: 3, Seed: 3})
		r := runRounds(t, e.NewTrial(0), plan, 1)
		return r[0].Score(true, fl.ScoreOptions{}).Loss
	}
	plain := score(func(c *fl.ClientParams) {})
	if got := score(func(c *fl.ClientParams) { c.Kind, c.Length, c.Min, c.Warmup = "cosine", 9, 0, 3 }); got != plain {
		t.Errorf("in a warm-up the loss is %v, without %v", got, plain)
	}
	if got := score(func(c *fl.ClientParams) { c.PersonalLR = 0.5 }); got == plain || math.IsNaN(got) {
		t.Errorf("client.personal_lr gives the loss %v as without it", got)
	}
}
