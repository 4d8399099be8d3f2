package repro

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestAblations makes the metrics of two arms for each setting of a set and looks
// whether each is compared with the arms that differ in FedEx alone, and drawn.
func TestAblations(t *testing.T) {
	cells, err := Select("fedex-ablation/cifar10")
	if err != nil {
		t.Fatal(err)
	}
	trainings, err := trainingsOf(cells)
	if err != nil {
		t.Fatal(err)
	}
	// 6 other eps, 4 other schedules, 2 other numbers of configurations, 2 other
	// cohorts with FedEx and without, independent draws, a cutoff, and the paper's own
	// arms.
	if len(trainings) != 6+4+2+4+1+1+2 {
		t.Errorf("%d trainings", len(trainings))
	}
	var all []*Metrics
	for _, training := range trainings {
		for seed := 1; seed <= 2; seed++ {
			score, test := 0.5, 0.5
			if training.ClientTuner == "fedex" {
				test = 0.5 - 0.01*float64(seed) // a gain of 1 and of 2 points
			}
			if strings.Contains(training.Key, "eps0.5-fedex") {
				test += 0.03
			}
			if strings.Contains(training.Key, "cohort30-alone") {
				test = 0.9
			}
			all = append(all, &Metrics{
				Head: Head{Training: training.Key, Digest: training.Key, Seed: seed},
				Trials: []TrialLine{{
					Params: tuners.Params{"client.lr": tuners.Num(float64(seed))}, Global: []*float64{&score},
					Personalized: []*float64{&score},
				}},
				End: End{Survivor: &Returned{GlobalTest: &test, PersonalizedTest: &test}},
			})
		}
	}
	r, err := NewReport(cells, all)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * (7 + 6 + 5 + 4 + 3 + 2 + 3 + 2 + 2 + 1 + 2 + 1); len(r.Verdicts) != want { // each beside arms without FedEx, and all but one beside the paper's own
		t.Errorf("%d claims, want %d", len(r.Verdicts), want)
	}
	for i := range r.Verdicts {
		v, want := &r.Verdicts[i], 1.5
		switch beside := strings.Contains(v.Name, "/beside-own/"); {
		case strings.Contains(v.Name, "/eps/0.5/") && beside:
			want = -3
		case strings.Contains(v.Name, "/eps/0.5/"):
			want = -1.5
		case beside:
			want = 0
		case strings.Contains(v.Name, "/cohort/30/"):
			want = 41.5
		}
		if v.Pairs.N != 2 || v.Pairs.Test.Mean < want-1e-9 || v.Pairs.Test.Mean > want+1e-9 {
			t.Errorf("%s: %+v, want a gain of %v", v.Name, v.Pairs, want)
		}
	}
}
