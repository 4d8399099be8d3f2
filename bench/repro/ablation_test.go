package repro

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/figure"
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
				Head:   Head{Training: training.Key, Digest: training.Key, Seed: seed},
				Trials: []TrialLine{{Params: tuners.Params{"client.lr": tuners.Num(float64(seed))}, Global: []*float64{&score}, Personalized: []*float64{&score}}},
				End:    End{Survivor: &Returned{GlobalTest: &test, PersonalizedTest: &test}},
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
		if v.Pairs.N != 2 || v.Pairs.Test.Mean < want-1e-9 || v.Pairs.Test.Mean > want+1e-9 || len(v.Pairs.Outcomes) > 0 {
			t.Errorf("%s: %+v, want a gain of %v", v.Name, v.Pairs, want)
		}
	}
	pictures := r.Multiples()
	if len(pictures) != 2 || len(pictures[0].Panels) != len(ablations) || len(pictures[1].Panels) != len(ablations) {
		t.Fatalf("%d pictures", len(pictures))
	}
	for _, f := range pictures {
		for i, p := range f.Panels {
			if len(p.Lines) != 2 || len(p.Lines[0].Points) != len(ablations[i].values) {
				t.Errorf("%s: panel %+v", f.Name, p)
			}
		}
	}
	// Beside the paper's own eps, the fourth, that one gains nothing, and the sixth loses 3.
	eps := pictures[1].Panels[0].Lines[1].Points
	if pictures[1].Name != "fedex-ablation-cifar10-beside-own" || eps[3] != (figure.Point{X: 4}) || math.Abs(eps[5].Y+3) > 1e-9 {
		t.Errorf("%s: %+v", pictures[1].Name, eps)
	}
	for i := range r.Verdicts { // of all but eps only the paper's value is there
		if v := &r.Verdicts[i]; !strings.Contains(v.Name, "/eps/") && !strings.Contains(v.Name, "/aggressive/") && !strings.Contains(v.Name, "/27/") && !strings.Contains(v.Name, "/10/") && !strings.Contains(v.Name, "/independent/false/") && !strings.Contains(v.Name, "/cutoff/0/") {
			v.Pairs.N = 0
		}
	}
	if few := r.Multiples(); len(few) != 2 || len(few[0].Panels) != 1 || len(few[1].Panels) != 1 || few[0].Panels[0].Title != "eps" {
		t.Errorf("a panel of a setting that was not varied: %+v", few)
	}
	var csv bytes.Buffer
	if err := pictures[0].Write(&csv, figure.CSV, figure.Light); err != nil || strings.Count(csv.String(), "\n") != 1+2*22 {
		t.Errorf("%v:\n%s", err, csv.String())
	}
	var svg bytes.Buffer
	if err := pictures[0].Write(&svg, figure.SVG, figure.Light); err != nil {
		t.Error(err)
	}
}

// TestDiscountPicture draws what discounts gain from recorded arms whose last scores
// are all noise and whose means are the truth.
func TestDiscountPicture(t *testing.T) {
	cells, err := Select("fedex-paired/cifar10")
	if err != nil {
		t.Fatal(err)
	}
	var all []*Metrics
	for seed := 1; seed <= 20; seed++ {
		for _, tuning := range fedexTunings {
			training := pairedTraining(pairedSets[slices.IndexFunc(pairedSets, func(s pairedSet) bool { return s.name == "cifar10" })], tuning)
			test := float64(seed) / 20
			var scores []*float64
			for round := 1; round <= 40; round++ {
				scores = append(scores, new(test))
			}
			for _, round := range []int{8, 16, 24, 32, 40} { // where halving and searching decide
				scores[round-1] = new(1 - test)
			}
			all = append(all, &Metrics{
				Head:   Head{Training: training.Key, Digest: training.Key, Seed: seed},
				Trials: []TrialLine{{Params: tuners.Params{"client.lr": tuners.Num(float64(seed))}, Global: scores, Personalized: scores}},
				End:    End{Survivor: &Returned{GlobalTest: &test, PersonalizedTest: &test}},
			})
		}
	}
	r, err := NewReport(cells, all)
	if err != nil {
		t.Fatal(err)
	}
	pictures := r.Multiples()
	if len(pictures) != 1 || pictures[0].Name != "fedex-paired-cifar10-discount" || len(pictures[0].Panels) != 4 {
		t.Fatalf("%+v", pictures)
	}
	for _, p := range pictures[0].Panels {
		if len(p.Lines) != 2 || !strings.Contains(p.Title, " of ") {
			t.Errorf("panel %+v", p)
		}
		for _, l := range p.Lines {
			if len(l.Points) != 3 || l.Points[0] != (figure.Point{X: 1}) || l.Points[1].X != 2 || l.Points[2].X != 3 || l.Points[2].Y < 20 {
				t.Errorf("%s, %s: %+v", p.Title, l.Name, l.Points)
			}
		}
	}
	for _, table := range r.Tables() {
		if strings.Contains(table.Title, "discounted scores") && len(table.Rows) == 2*len(r.Verdicts[0].Pairs.Discounted) {
			return
		}
	}
	t.Error("no table of discounted scores")
}
