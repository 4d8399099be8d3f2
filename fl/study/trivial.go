package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Trivial are the test errors of predictors that look at no input: what a model must
// beat to have learned anything.
type Trivial struct {
	// Answer is what they always answer with: "class", "token", "tags" or "mean".
	Answer string `json:"answer"`
	// Global is that of always answering with what is most frequent among the test
	// samples that were measured: a class or a token, or as many tags as count, or the
	// mean of the numbers.
	Global float64 `json:"global_test_error"`
	// Zero is that of always predicting 0, of a regression.
	Zero float64 `json:"zero_test_error,omitempty"`
	// Personalized is that of always answering with what is most frequent among each
	// client's own training samples; nil for regressions, and where no personalized
	// models were measured.
	Personalized *float64 `json:"personalized_test_error,omitempty"`
}

// Of names the predictor of a target, and returns its test error; NaN for one that there is none of.
func (t *Trivial) Of(target string) (predictor string, test float64) {
	switch {
	case t == nil || target == tuners.TargetPersonalized && t.Personalized == nil:
		return "", math.NaN()
	case target == tuners.TargetPersonalized:
		return "guessing each client's most frequent " + t.Answer, *t.Personalized
	case t.Answer == "mean":
		return "predicting the mean", t.Global
	}
	return "guessing the most frequent " + t.Answer, t.Global
}

// trivialOf returns the errors of trivial predictors on the clients that an evaluation
// measured; nil without test samples.
func trivialOf(e *fl.Evaluation, m *nn.Model, fed *data.Federation, clients []int) (*Trivial, error) {
	switch {
	case e.GlobalTest.Clients == 0:
		return nil, nil
	case m.Loss().Numbers():
		return &Trivial{Answer: "mean", Global: math.Sqrt(variance(e.GlobalTest.Fit)), Zero: math.Sqrt(e.GlobalTest.Fit.Square)}, nil
	}
	answer, top := "class", 1
	switch {
	case m.Loss().Target() == nn.ManyLabels:
		answer, top = "tags", m.Loss().Top
	case m.Input().Vocab > 0 && fed.Target == data.OneClass && m.LabelsPerExample() > 1:
		answer = "token"
	}
	var tests, own []labelCounts
	all := make([]int, m.Classes())
	if fed.Test.Len() > 0 {
		counts, err := fed.Test.ClassCounts(m.Classes())
		if err != nil {
			return nil, err
		}
		all, tests = counts, []labelCounts{{counts, fed.Test.Len()}}
	}
	for _, i := range clients {
		c := &fed.Clients[i]
		if c.Test.Len() == 0 {
			continue
		}
		counts, err := c.Test.ClassCounts(m.Classes())
		if err != nil {
			return nil, err
		}
		tests = append(tests, labelCounts{counts, c.Test.Len()})
		for k, n := range counts {
			all[k] += n
		}
		if e.PersonalizedTest.Clients > 0 {
			if counts, err = c.Train.ClassCounts(m.Classes()); err != nil {
				return nil, err
			}
			own = append(own, labelCounts{counts, c.Train.Len()})
		}
	}
	t := &Trivial{Answer: answer, Global: missed(tests, func(int) []int { return frequent(all, top) })}
	if len(own) > 0 {
		t.Personalized = new(missed(tests, func(i int) []int { return frequent(own[i].counts, top) }))
	}
	return t, nil
}

// labelCounts are how often each label occurs among samples.
type labelCounts struct {
	counts  []int
	samples int
}

// missed returns the mean over clients, weighted by samples, of the share of labels that
// an answer for each misses.
func missed(clients []labelCounts, answer func(client int) []int) float64 {
	var sum, weight float64
	for i, c := range clients {
		labels, found := 0, 0
		for _, n := range c.counts {
			labels += n
		}
		for _, k := range answer(i) {
			found += c.counts[k]
		}
		n := float64(c.samples)
		sum += float64(float64(labels-found) / float64(max(1, labels)) * n)
		weight += n
	}
	return sum / weight
}

// frequent returns the labels that occur most often, the first of equals.
func frequent(counts []int, top int) []int {
	places := make([]int, len(counts))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
	return places[:min(top, len(places))]
}

// variance returns that of the targets of a regression, the mean over several outputs:
// the mean squared error of predicting the mean of each.
func variance(f fl.Fit) float64 {
	outputs := f.Outputs
	if len(outputs) == 0 {
		outputs = []fl.Fit{f}
	}
	var sum float64
	for _, o := range outputs {
		sum += o.Variance()
	}
	return sum / float64(len(outputs))
}
