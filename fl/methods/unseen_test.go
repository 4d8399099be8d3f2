package methods

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestUnseenClientsJoin: clients that never train adapt as in a first round, with the same
// bits for any number of workers, and nothing of the training changes by it. Where a method
// personalizes a client that was never drawn by the same steps, both are the same.
func TestUnseenClientsJoin(t *testing.T) {
	t.Parallel()
	all := fltest.OpenGlyphs(t, 12, 30)
	fed, n := *all, len(all.Clients)-2
	fed.Clients, fed.Unseen = all.Clients[:n], all.Clients[n:]
	// those in which clients that were never drawn use the weights as they are
	unadapted := []string{"apfl", "ditto", "fedbn"}
	forEachMethod(t, func(t *testing.T, m fl.Method) {
		cfg := fl.Config{Model: modelOf(t, m, &fed), Data: &fed, Method: m, Cohort: 4, Seed: 5, Workers: 1}
		if m.Closed != "" {
			if _, err := fl.New(cfg); err == nil || !strings.HasPrefix(err.Error(),
				"data.unseen_clients: a new client has no model in method") {
				t.Errorf("it gives no reason: %v", err)
			}
			return
		}
		e := newEngine(t, cfg)
		tr := e.NewTrial(1)
		runRounds(t, tr, defaultPlan(m), 3)
		before := cfg.Model.SHA256(tr.Weights())
		eval := fl.EvalConfig{Clients: defaultPlan(m).Clients, State: tr.State(), Round: 3}
		got, err := e.Evaluate(t.Context(), tr.Weights(), eval)
		if err != nil {
			t.Fatal(err)
		}
		if got.Unseen.Clients != 2 || got.UnseenAdapted.Clients != 2 || got.UnseenAdapted.Loss == got.Unseen.Loss {
			t.Errorf("before %+v, after %+v", got.Unseen, got.UnseenAdapted)
		}
		alone := eval
		alone.Unseen = true
		if one, err := e.EvaluateSplit(t.Context(), tr.Weights(), "test", nil, alone); err != nil ||
			!reflect.DeepEqual(one, got.UnseenAdapted) {
			t.Errorf("measured by themselves: %+v, want %+v, %v", one, got.UnseenAdapted, err)
		}
		cfg.Workers = 3
		again, err := newEngine(t, cfg).Evaluate(t.Context(), tr.Weights(), eval)
		if err != nil || !reflect.DeepEqual(again.UnseenAdapted, got.UnseenAdapted) ||
			cfg.Model.SHA256(tr.Weights()) != before {
			t.Errorf("another number of workers: %+v, want %+v, %v", again.UnseenAdapted, got.UnseenAdapted, err)
		}
		whole := cfg
		whole.Data = all
		same, err := newEngine(t, whole).EvaluateSplit(t.Context(), tr.Weights(), "test", []int{n, n + 1}, eval)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(same, got.UnseenAdapted) == slices.Contains(unadapted, m.Name) {
			t.Errorf("clients that were never drawn: %+v, unseen ones %+v", same, got.UnseenAdapted)
		}
		if m.Name != "fedavg" {
			return
		}
		// Hyperparameters of each client's own: those of unseen clients come last.
		own := make([]fl.ClientParams, len(all.Clients))
		for i := range own {
			own[i] = eval.Clients[0]
			own[i].LR *= float64(i + 1)
		}
		eval.Clients = own[:n]
		if _, err := newEngine(t, cfg).Evaluate(t.Context(), tr.Weights(), eval); err == nil ||
			!strings.Contains(err.Error(), "one for each of 10 clients") {
			t.Errorf("none for unseen clients: %v", err)
		}
		eval.Clients = own
		got, err = newEngine(t, cfg).Evaluate(t.Context(), tr.Weights(), eval)
		if err != nil {
			t.Fatal(err)
		}
		same, err = newEngine(t, whole).EvaluateSplit(t.Context(), tr.Weights(), "test", []int{n, n + 1}, eval)
		if err != nil || !reflect.DeepEqual(same, got.UnseenAdapted) {
			t.Errorf("with hyperparameters of their own: %+v, unseen ones %+v, %v", same, got.UnseenAdapted, err)
		}
	})
}
