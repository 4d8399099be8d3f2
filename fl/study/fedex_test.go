package study

import (
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
)

// TestFedExUnderSuccessiveHalving runs the built-in tuners in process on the
// paper's rung arithmetic: 27 arms, 9, 3 and 1, for every round of the budget
// that the rungs can use.
func TestFedExUnderSuccessiveHalving(t *testing.T) {
	builtin := plugins.Builtin()
	var results []*result.Result
	for _, workers := range []int{1, 2} {
		s := glyphStudy(t, builtin["sha"])
		s.ClientTuner = builtin["fedex"]
		s.Config.Budget = config.Budget{Rounds: 100, TrialRounds: 10}
		s.Config.Space = map[string]any{
			"client.lr":    map[string]any{"log10": []any{-4.0, 0.0}},
			"client.batch": map[string]any{"log2": []any{int64(3), int64(5)}},
			"server.lr":    map[string]any{"log10": []any{-1.0, 1.0}},
		}
		s.Workers = workers
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r.Seconds, r.RoundsPerSecond = 0, 0
		results = append(results, r)
	}
	r := results[0]
	if !reflect.DeepEqual(r, results[1]) {
		t.Error("1 and 2 workers give different results")
	}
	if len(r.Trials) != 27 || r.Survivor == nil || r.Survivor.Round != 10 || r.Rounds > 100 {
		t.Errorf("%d trials, survivor %+v, %d rounds", len(r.Trials), r.Survivor, r.Rounds)
	}
	atRung := map[int]int{}
	for _, trial := range r.Trials {
		for _, rung := range trial.Rungs {
			atRung[rung.Round]++
		}
	}
	counts := []int{}
	for round := range 11 {
		if n := atRung[round]; n > 0 {
			counts = append(counts, n)
		}
	}
	if !reflect.DeepEqual(counts, []int{27, 9, 3, 1}) {
		t.Errorf("trials at the rungs: %v, want 27, 9, 3, 1", counts)
	}
}

// TestFedExAlone names FedEx as the trial tuner only: it tunes the clients of
// its one trial itself.
func TestFedExAlone(t *testing.T) {
	fedex := plugins.Builtin()["fedex"]
	run := func(change func(*Setup)) (*result.Result, error) {
		s := glyphStudy(t, fedex)
		s.Config.Budget.Rounds = s.Config.Budget.TrialRounds
		change(&s)
		return Tune(t.Context(), s)
	}
	few := map[string]any{"configs": int64(3)}
	alone, err := run(func(s *Setup) { s.Config.Tuner.Options = few })
	if err != nil {
		t.Fatal(err)
	}
	both, err := run(func(s *Setup) { s.ClientTuner, s.Config.ClientTuner.Options = fedex, few })
	if err != nil {
		t.Fatal(err)
	}
	if alone.WeightsSHA256 != both.WeightsSHA256 || len(alone.Trials) != 1 || alone.Survivor == nil {
		t.Errorf("alone FedEx returns %s of %d trials, as its own client tuner %s", alone.WeightsSHA256, len(alone.Trials),
			both.WeightsSHA256)
	}
	if _, drawn := alone.Best.Params["fedex.gamma"]; !drawn {
		t.Errorf("alone FedEx runs a trial with %s", alone.Best.Params)
	}
	if _, err := run(func(s *Setup) { s.Config.Tuner.Options = map[string]any{"eps": 2.0} }); err == nil ||
		!strings.HasPrefix(err.Error(), "tuner.options.eps: ") {
		t.Errorf("got error %v, want one about tuner.options.eps", err)
	}
}
