package study

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// TestVerdicts trains models that learn, that do not, and that diverge.
func TestVerdicts(t *testing.T) {
	run := func(change func(*config.Config)) []string {
		t.Helper()
		s := glyphStudy(t, nil)
		change(&s.Config)
		r, err := Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		// What the study says is what a look at its labels says.
		counts, labels := make([]int, s.Model.Classes()), 0
		for i := range s.Data.Clients {
			c, err := s.Data.Clients[i].Test.ClassCounts(len(counts))
			if err != nil {
				t.Fatal(err)
			}
			for k, n := range c {
				counts[k] += n
				labels += n
			}
		}
		if want := 1 - float64(slices.Max(counts))/float64(labels); math.Abs(r.Trivial.Global-want) > 1e-12 ||
			r.Trivial.Answer != "class" {
			t.Errorf("the most frequent class gives %+v, want %v", r.Trivial, want)
		}
		return r.Verdict()
	}
	if v := run(func(c *config.Config) { c.Rounds, c.Client.LR, c.Client.Epochs = 60, 0.3, 3 }); len(v) != 0 {
		t.Errorf("a model that learned: %q", v)
	}
	if v := run(func(c *config.Config) { c.Rounds, c.Client.LR = 2, 1e-9 }); !slices.ContainsFunc(v, func(s string) bool {
		return strings.HasPrefix(s, "global model: ") &&
			strings.Contains(s, "better than always guessing the most frequent class (")
	}) {
		t.Errorf("a model that did not learn: %q", v)
	}
	if v := run(func(c *config.Config) { c.Rounds, c.Client.LR = 3, 1e38 }); len(v) == 0 ||
		!strings.HasPrefix(v[0], "diverged: ") || !strings.HasSuffix(v[0], "; try a smaller client.lr") {
		t.Errorf("a model that diverged: %q", v)
	}
}

// TestUnlearnedTrials counts them in a study.
func TestUnlearnedTrials(t *testing.T) {
	s := glyphStudy(t, &script{params: learningRates(1e-9, 0.3, 1e-9), rung: 3, to: 5})
	s.Config.Space = map[string]any{"client.lr": map[string]any{"log10": []any{-9.0, 0.0}}}
	r, err := Tune(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	r.Trivial.Personalized = new(0.5) // what the trials come to lies on both sides
	for i, score := range []float64{0.6, 0.4, 0.5} {
		r.Trials[i].Score = score
	}
	if v := r.Verdict(&s.Config); !slices.Contains(v, "2 of 3 trials did not learn") {
		t.Errorf("it says %q", v)
	}
}

// TestHighLossDiverged: a classifier whose loss is high from the first round on diverged, but
// not a regression.
func TestHighLossDiverged(t *testing.T) {
	r := result.RunResult{TrainLoss: []float64{118010, 118000, 117000}}
	if v := r.Verdict(); !slices.Equal(v,
		[]string{"diverged: the training loss is 1.17e+05 at the end; try a smaller client.lr"}) {
		t.Errorf("it says %q", v)
	}
	r.TrainLoss = []float64{1e6, 1, 2000}
	if v := r.Verdict(); !slices.Equal(v,
		[]string{"diverged: the training loss grew from 1 to 2000; try a smaller client.lr"}) {
		t.Errorf("it says %q", v)
	}
	if r.Measure = result.MeasureRMSE; len(r.Verdict()) > 0 {
		t.Errorf("of a regression it says %q", r.Verdict())
	}
}

func TestTrivialTags(t *testing.T) {
	clients := []labelCounts{{[]int{3, 1, 0}, 2}, {[]int{0, 2, 2}, 6}}
	got := missed(clients, func(int) []int { return frequent([]int{3, 3, 2}, 2) })
	if want := (0*2 + 0.5*6) / 8; math.Abs(got-want) > 1e-12 {
		t.Errorf("two tags miss %v, want %v", got, want)
	}
}
