package repro

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// Step is a point of an online curve.
type Step struct {
	// Rounds of all trials of the study together.
	Rounds int
	// Value is the best validation score so far, or, of a training without a
	// wrapper, the test accuracy; in percent. Of a regression both are errors as
	// they are; a score that is a loss is, too.
	Value float64
	// Test is the global model's test error, likewise, that was measured last in
	// the trial of the best score; NaN before.
	Test float64
}

// segment is a part of a trial between two decisions of the wrapper.
type segment struct {
	trial       *TrialLine
	number      int // of the trial's segments
	first, last int // its rounds
}

// segments returns the parts of a study in the order in which a wrapper runs them:
// all trials to their first rung, then those that went on.
func (m *Metrics) segments() []segment {
	var all []segment
	for i := range m.Trials {
		t := &m.Trials[i]
		at := 0
		for n, rung := range t.Rungs {
			all = append(all, segment{t, n, at + 1, rung.Round})
			at = rung.Round
		}
		if end := len(t.Global); end > at { // it failed
			all = append(all, segment{t, len(t.Rungs), at + 1, end})
		}
	}
	slices.SortStableFunc(all, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.trial.Number, b.trial.Number))
	})
	return all
}

// Online returns the results of a training as a function of the number of rounds.
// For a study, it has a point for each better score, discounted as in the study
// (score.discount), and one for its end.
func (m *Metrics) Online(target string) []Step {
	var steps []Step
	if len(m.Trials) == 0 {
		for _, p := range m.End.Curve {
			e := m.End.error(p.TestError)
			value := m.End.accuracy(p.TestError)
			if m.End.regression() {
				value = e
			}
			steps = append(steps, Step{p.Round, value, e})
		}
		return steps
	}
	discount := 0.0
	if c, err := config.Load(config.Source{Text: m.Head.Config}); err == nil {
		discount = c.Discount()
	}
	best, rounds := math.Inf(1), 0
	for _, l := range m.segments() {
		scores := l.trial.scores(target)
		mean := result.Discounted{}
		for round := l.first; round <= l.last && round <= len(scores); round++ {
			rounds++
			s := math.Inf(1)
			if scores[round-1] != nil {
				s = mean.Add(*scores[round-1], discount)
			}
			if s < best {
				best = s
				steps = append(steps, Step{rounds, m.score(best), m.End.error(l.trial.testAt(round))})
			}
		}
	}
	if n := len(steps); n > 0 && steps[n-1].Rounds < rounds {
		last := steps[n-1]
		last.Rounds = rounds
		steps = append(steps, last)
	}
	return steps
}

// testAt returns the trial's last test error up to a round, or NaN if none was
// measured.
func (t *TrialLine) testAt(round int) float64 {
	e := math.NaN()
	for _, p := range t.Test {
		if p.Round <= round {
			e = p.TestError
		}
	}
	return e
}

// at returns the value of a curve after a number of rounds, NaN before its first point.
func at(steps []Step, rounds int) float64 {
	v := math.NaN()
	for _, s := range steps {
		if s.Rounds > rounds {
			break
		}
		v = s.Value
	}
	return v
}
