package repro

import (
	"github.com/fedfast/fedfast/tuners"
)

// armRounds is how many rounds an arm's score is the mean of: one round's, of some clients, is mostly noise.
const armRounds = 5

// armGains returns by how much the arms of the first training score better than those of the second with the same hyperparameters, in points:
// the mean validation errors of the last rounds that both have run, arm by arm of each trial. What the first has beyond the second's
// hyperparameters does not count. It is empty for trainings that are no studies.
//
// There are as many pairs as arms, where verdicts have one a trial, and a verdict depends on which arms a seed happens to draw.
func armGains(fresh, old *Row) []float64 {
	var gains []float64
	for _, a := range fresh.metrics {
		for _, b := range old.metrics {
			if a.Head.Trial != b.Head.Trial {
				continue
			}
			for i := range min(len(a.Trials), len(b.Trials)) {
				x, y := &a.Trials[i], &b.Trials[i]
				if x.Number != y.Number || !x.holds(y.Params) {
					continue
				}
				if gain, ok := armGain(x.scores(fresh.Target), y.scores(old.Target)); ok {
					gains = append(gains, gain)
				}
			}
		}
	}
	return gains
}

// holds says whether an arm has all of some hyperparameters.
func (t *TrialLine) holds(p tuners.Params) bool {
	for name, v := range p {
		if own, ok := t.Params[name]; !ok || own != v {
			return false
		}
	}
	return len(p) > 0
}

// scores are the validation errors of the model that a target is about.
func (t *TrialLine) scores(target string) []*float64 {
	if target == tuners.TargetGlobal {
		return t.Global
	}
	return t.Personalized
}

// armGain compares the last rounds that two arms have both run; ok is false when there is none, or a score is not finite.
func armGain(fresh, old []*float64) (gain float64, ok bool) {
	n := min(len(fresh), len(old))
	from := max(0, n-armRounds)
	for i := from; i < n; i++ {
		if fresh[i] == nil || old[i] == nil {
			return 0, false
		}
		gain += 100 * (*old[i] - *fresh[i])
	}
	return gain / float64(n-from), n > 0
}
