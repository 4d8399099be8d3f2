package fl

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/tuners"
)

// scoredRound has five clients, one without validation examples.
func scoredRound(draws uint64) *RoundResult {
	r := &RoundResult{draws: draws}
	for i, n := range []int{10, 0, 30, 20, 40} {
		r.Slots = append(r.Slots, Slot{
			ValExamples: n, Before: Score{Error: 0.1 * float64(i), Loss: float64(i)},
			After: Score{Error: 0.05 * float64(i), Loss: 1},
		})
	}
	return r
}

func TestNoisyScores(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	r := scoredRound(1)
	near("weighted", r.Score(false, ScoreOptions{}).Error, (0.2*30+0.3*20+0.4*40)/100)
	near("uniform", r.Score(false, ScoreOptions{Uniform: true}).Error, 0.9/4)
	near("uniform, personalized", r.Score(true, ScoreOptions{Uniform: true}).Error, 0.45/4)
	near("more clients than there are", r.Score(false, ScoreOptions{Clients: 9}).Loss, r.Score(false, ScoreOptions{}).Loss)
	// Two of four clients, equally often each.
	const rounds = 4000
	counts := map[float64]int{}
	var noise, square float64
	for i := range uint64(rounds) {
		r := scoredRound(i)
		s := r.Score(false, ScoreOptions{Clients: 2, Uniform: true})
		counts[math.Round(s.Error*1e6)]++
		if again := r.Score(false, ScoreOptions{Clients: 2, Uniform: true}); !reflect.DeepEqual(again, s) {
			t.Fatalf("round %d scores %v, then %v", i, s, again)
		}
		private := r.Score(false, ScoreOptions{Uniform: true, Epsilon: 2})
		if !math.IsNaN(private.Loss) {
			t.Fatalf("a private loss of %v", private.Loss)
		}
		noise += private.Error - 0.225
		d := private.Error - 0.225
		square += d * d
	}
	// The means of pairs of 0, 0.2, 0.3 and 0.4: 0.1, 0.15, 0.2, 0.25, 0.3, 0.35.
	if len(counts) != 6 {
		t.Errorf("pairs of clients give %d scores, want 6: %v", len(counts), counts)
	}
	for score, n := range counts {
		if math.Abs(float64(n)-rounds/6) > 150 {
			t.Errorf("score %v in %d of %d rounds", score/1e6, n, rounds)
		}
	}
	// Laplace noise of scale b = 1/(2 * 4) has mean 0 and variance 2 b^2.
	b := 1.0 / 8
	if mean := noise / rounds; math.Abs(mean) > 0.01 {
		t.Errorf("the noise has mean %v", mean)
	}
	if v := square / rounds; math.Abs(v/(2*b*b)-1) > 0.15 {
		t.Errorf("the noise has variance %v, want %v", v, 2*b*b)
	}
	if err := (ScoreOptions{Epsilon: 1}).Check(); err == nil || !strings.HasPrefix(err.Error(), "score.epsilon") {
		t.Errorf("private and weighted: error %v", err)
	}
	if err := (ScoreOptions{Clients: -1}).Check(); err == nil || !strings.HasPrefix(err.Error(), "score.clients = -1") {
		t.Errorf("-1 clients: error %v", err)
	}
}

// TestDroppedSlotsScoreTheWorst counts dropped clients with error 1 and the loss of those that
// diverge, in every kind of score, whatever the broadcast model's error was.
func TestDroppedSlotsScoreTheWorst(t *testing.T) {
	worst := Score{Error: 1, Loss: limit.DivergedLoss}
	options := []ScoreOptions{{}, {Uniform: true}, {Clients: 2}, {Clients: 2, Uniform: true, Epsilon: 2}}
	for _, o := range options {
		for _, personalized := range []bool{false, true} {
			r, want := scoredRound(7), scoredRound(7)
			for _, i := range []int{1, 3, 4} { // the first without validation samples
				r.Slots[i].Dropped = true
				want.Slots[i].Before, want.Slots[i].After = worst, worst
			}
			got, other := r.Score(personalized, o), want.Score(personalized, o)
			if got.Error != other.Error || !reflect.DeepEqual(got.clients, other.clients) ||
				got.Loss != other.Loss && o.Epsilon == 0 {
				t.Errorf("%+v, personalized %t: %v with dropped clients, %v with their errors at 1", o, personalized, got, other)
			}
			for i := range r.Slots {
				r.Slots[i].Dropped = true
			}
			if o.Epsilon > 0 {
				continue
			}
			if all := r.Score(personalized, o); all.Error != 1 || all.Loss != limit.DivergedLoss ||
				all.Metric(tuners.MetricErrorP90) != 1 {
				t.Errorf("%+v, personalized %t: a round that dropped all scores %v", o, personalized, all)
			}
		}
	}
	if got, want := (&RoundResult{Slots: []Slot{
		{ValExamples: 3, After: Score{Error: 0.2}},
		{ValExamples: 1, Dropped: true},
	}}).Score(true, ScoreOptions{}).Error,
		(3*0.2+1)/4; math.Abs(got-want) > 1e-15 {
		t.Errorf("three samples at 0.2 and one of a dropped client: error %v, want %v", got, want)
	}
	r := &RoundResult{Slots: []Slot{{Dropped: true}}}
	if got := r.Score(false, ScoreOptions{}).Metric(tuners.MetricErrorWorst); !math.IsNaN(got) {
		t.Errorf("without validation samples error_worst is %v, want NaN", got)
	}
	if got := r.Score(false, ScoreOptions{}); !math.IsNaN(got.Error) {
		t.Errorf("without validation samples a round that dropped all scores %v, want NaN", got)
	}
}

// TestSpreadMetrics compares the metrics of how even a cohort's errors are with their
// definitions, worked out by hand for errors of 0, 0.2, 0.3 and 0.4.
func TestSpreadMetrics(t *testing.T) {
	s := scoredRound(1).Score(false, ScoreOptions{})
	for metric, want := range map[string]float64{
		tuners.MetricErrorP90: 0.4, tuners.MetricErrorWorst: 0.4, tuners.MetricErrorVariance: (0.29 / 4) - 0.225*0.225,
		tuners.MetricJain: 3.1 * 3.1 / (4 * (1 + 0.64 + 0.49 + 0.36)),
	} {
		if got := s.Metric(metric); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

func TestProbeOptions(t *testing.T) {
	for name, want := range map[string]string{
		"cos_delta_smoothed{alpha=1}":  "in [0, 1)",
		"cos_delta_smoothed{beta=0.5}": "{alpha=A}",
		"cos_delta_smoothed{alpha=0.5": "{alpha=A}",
		"cos_delta_smoothed{alpha=x}":  "{alpha=A}",
		"sign_agreement{alpha=0.5}":    "sign_agreement takes no options",
		"dot_delta_previous{alpha=0}":  "dot_delta_previous takes no options",
		"steps{alpha=0.5}":             "steps takes no options",
		"min_cos":                      `unknown probe "min_cos" (did you mean "min_cos_grad_displacement"?); the probes are bytes_up, client_key, cos_delta_smoothed, delta_norm`,
		"cos_delta_smoothed_more{a=0}": "unknown probe",
	} {
		if _, err := parseProbes([]string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	p, err := parseProbes([]string{
		"cos_delta_smoothed", "cos_delta_smoothed{alpha=0.25}",
		"cos_delta_smoothed", "val_loss_after",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.smoothed) != 2 || p.smoothed[0].alpha != 0.5 || p.smoothed[1].alpha != 0.25 || !p.after ||
		p.before || p.phi || p.signs {
		t.Errorf("got %+v", p)
	}
}
