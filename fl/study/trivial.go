package study

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// trivialOf returns the errors of trivial predictors on the clients that an evaluation
// measured; nil without test samples.
func trivialOf(e *fl.Evaluation, m *nn.Model, fed *data.Federation, clients []int) (*result.Trivial, error) {
	switch {
	case e.GlobalTest.Clients == 0:
		return nil, nil
	case m.Loss().Numbers():
		return &result.Trivial{Answer: "mean", Global: math.Sqrt(variance(e.GlobalTest.Fit)), Zero: math.Sqrt(e.GlobalTest.Fit.Square)}, nil
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
	t := &result.Trivial{Answer: answer, Global: missed(tests, func(int) []int { return frequent(all, top) })}
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
	places := list.Made(len(counts), func(i int) int { return i })
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
