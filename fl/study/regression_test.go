package study

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
)

// regression is a federation of eight clients whose targets are scale (8 + signal x + noise): x
// and the noise are normal.
func regression(scale, signal float64) *data.Federation {
	random := rand.New(rand.NewPCG(1, 2))
	view := func(n int) data.View {
		var x, y []float32
		for range n {
			input := random.NormFloat64()
			x = append(x, float32(input), float32(random.NormFloat64()))
			y = append(y, float32(scale*(8+signal*input+random.NormFloat64())))
		}
		return data.NumbersView(data.VectorView(2, x, make([]int32, n)), 1, y)
	}
	fed := &data.Federation{Name: "regression", Kind: data.Vector, H: 1, W: 1, C: 2, Classes: 1, Target: data.Numbers}
	for i := range 8 {
		fed.Clients = append(fed.Clients, data.Client{ID: strconv.Itoa(i), Train: view(60), Val: view(40), Test: view(60)})
	}
	return fed
}

// regressionStudy returns a study of linear regression.
func regressionStudy(t *testing.T, fed *data.Federation, lr float64) Setup {
	t.Helper()
	c, err := config.Load(config.Source{Sets: []string{
		"tuner.name=script", "model=logistic", "rounds=12", "cohort=4",
		"client.batch=10", "client.epochs=12", "target=global", "eval.personalized=false", fmt.Sprintf("client.lr=%g", lr),
	}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := config.PrepareModel(c, fed)
	if err != nil {
		t.Fatal(err)
	}
	return Setup{Config: *c, Data: fed, Model: m}
}

// TestVerdictsOfRegressions: what is said of a regression is the same in all units of its targets.
func TestVerdictsOfRegressions(t *testing.T) {
	for _, tt := range []struct {
		name       string
		lr, signal float64
		begin      []string // of the sentences
	}{
		{"learns", 0.05, 10, nil},
		{"learns a little", 0.01, 0.25, []string{"global model: hardly better than always predicting the mean (RMSE "}},
		{"does not learn", 1e-9, 10, []string{"global model: no better than always predicting the mean (RMSE "}},
		{"diverges", 1.5, 10, []string{"diverged: ", "global model: ", "global model: no better than"}},
		{"overflows", 1e20, 10, []string{"diverged: "}},
	} {
		for _, scale := range []float64{1e-9, 1e-3, 1, 1e6} {
			tt := tt
			if scale < 1e-6 && tt.name == "learns a little" { // less of targets that are so small
				tt.begin = []string{"global model: no better than always predicting the mean (RMSE "}
			}
			t.Run(fmt.Sprintf("%s/%g", tt.name, scale), func(t *testing.T) {
				s := regressionStudy(t, regression(scale, tt.signal), tt.lr)
				r, err := Run(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				got := r.Verdict()
				for _, begin := range tt.begin {
					if !slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, begin) }) {
						t.Errorf("it says %q, want %q", got, begin)
					}
				}
				if tt.begin == nil && len(got) > 0 || !slices.ContainsFunc(tt.begin,
					func(b string) bool { return strings.HasPrefix(b, "diverged") }) &&
					slices.ContainsFunc(got, func(v string) bool { return strings.HasPrefix(v, "diverged") }) {
					t.Errorf("losses %.4g, RMSE %v: it says %q", r.TrainLoss, *r.GlobalTest, got)
				}
				s.Tuner = &script{params: learningRates(tt.lr, tt.lr), rung: 6, to: 12}
				s.Config.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-9.0, 20.0}}}
				s.Config.Budget = config.Budget{Rounds: 24, TrialRounds: 12}
				tuned, err := Tune(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				failed := tt.begin != nil
				if v := tuned.Verdict(&s.Config); tt.signal > 1 && slices.Contains(v, "2 of 2 trials did not learn") != failed {
					t.Errorf("a study says %q of scores %v beside %+v", v, tuned.Trials[0].Score, tuned.Trivial)
				}
			})
		}
	}
}

// TestSmallTargets: a loss that falls has not diverged, however far it still is from that of targets
// that are small.
func TestSmallTargets(t *testing.T) {
	s := regressionStudy(t, regression(1e-9, 10), 0.001)
	s.Config.Client.Epochs = 1
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("did not learn yet: the training loss fell from %.4g to %.4g, but the RMSE is %.4g, and that of predicting the mean %.4g; scale the targets to about 1, or train for more rounds", r.TrainLoss[0], r.TrainLoss[11], *r.GlobalTest, r.Trivial.Global),
		fmt.Sprintf("global model: no better than always predicting the mean (RMSE %.4g)", r.Trivial.Global),
	}
	if got := r.Verdict(); !slices.Equal(got, want) || r.TrainLoss[11] >= r.TrainLoss[0] {
		t.Errorf("losses %.4g: it says %q, want %q", r.TrainLoss, got, want)
	}
}

// TestOneClientsLabels: labels of 1e20 of one client leave neither an R2 of nearly 1 nor silence.
func TestOneClientsLabels(t *testing.T) {
	fed := regression(1, 10)
	fed.Clients[3] = regression(1e20, 10).Clients[3]
	for _, lr := range []float64{1e-9, 0.05} {
		r, err := Run(t.Context(), regressionStudy(t, fed, lr))
		if err != nil {
			t.Fatal(err)
		}
		if r2 := r.Evaluation.GlobalTest.R2; r2 != nil && *r2 > 0 && lr < 0.01 {
			t.Errorf("a model that learned nothing has R2 %v", *r2)
		}
		if v := r.Verdict(); !slices.ContainsFunc(v,
			func(s string) bool { return strings.HasPrefix(s, "global model: the RMSE is 1e+12 or more") }) {
			t.Errorf("with RMSE %v it says %q", *r.GlobalTest, v)
		}
	}
}

// TestPrivateTuningOfARegression is refused where noise would decide.
func TestPrivateTuningOfARegression(t *testing.T) {
	for scores, want := range map[string]string{
		"":       `objective = "error": the error of a regression has no bound`,
		"public": "",
	} {
		s := regressionStudy(t, regression(1, 10), 0.05)
		s.Config.DP.Noise, s.Config.DP.Clip, s.Config.DP.Scores, s.Config.Sampling = 1, 1, scores, "poisson"
		err := checkMetrics(&s)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("dp.scores = %q: %v", scores, err)
		}
		s.Unscored = true
		if err := checkMetrics(&s); err != nil {
			t.Errorf("a run: %v", err)
		}
	}
}
