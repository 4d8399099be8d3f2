package repro

import (
	"math"

	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// armRounds is how many rounds an arm's score is the mean of: one round's, of some
// clients, is mostly noise.
const armRounds = 5

// learntBelow is the validation error below which an arm has learnt something: that
// of guessing is 90 to 98 % on the papers' sets, and one round's cohort scores a
// few points below that by luck.
const learntBelow = 0.8

// armPair is an arm of one training beside the arm of another with the same
// hyperparameters.
type armPair struct {
	seed int
	// gain is by how much the first scores better, in points.
	gain float64
	// learnt says that at least one of both ended below learntBelow.
	learnt bool
}

// Arms sums up the pairs of arms of two trainings. Arms of one seed share its
// data, its weights and its cohorts, so that intervals are for numbers that
// are alike within a seed.
type Arms struct {
	// All is the gain of a pair, Learnt of those pairs of which one at least ended
	// with an error below 80 %.
	All    stats.Sample `json:"all"`
	Learnt stats.Sample `json:"learnt"`
	// Least and Most are the smallest and largest gains of single pairs; NaN
	// without any.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

func armsOf(pairs []armPair) Arms {
	a := Arms{Least: math.NaN(), Most: math.NaN()}
	all, learnt := map[int][]float64{}, map[int][]float64{}
	for _, p := range pairs {
		all[p.seed] = append(all[p.seed], p.gain)
		if p.learnt {
			learnt[p.seed] = append(learnt[p.seed], p.gain)
		}
		a.Least, a.Most = math.Min(p.gain, orElse(a.Least, p.gain)), math.Max(p.gain, orElse(a.Most, p.gain))
	}
	a.All, a.Learnt = stats.Clustered(all), stats.Clustered(learnt)
	return a
}

// orElse returns x, or y when x is NaN.
func orElse(x, y float64) float64 {
	if math.IsNaN(x) {
		return y
	}
	return x
}

// armPairs returns by how much the arms of the first training score better than
// those of the second with the same hyperparameters: the mean validation errors of
// the last rounds that both have run, arm by arm of each seed. What the first has
// beyond the second's hyperparameters does not count. It is empty for trainings
// that are no studies of several arms, for regressions, whose errors are no points, and
// where scores are losses.
//
// There is one pair per arm, whereas verdicts have only one per seed, and a verdict
// depends on which arms a seed happens to draw.
func armPairs(fresh, old *Row) []armPair {
	var pairs []armPair
	for _, a := range fresh.metrics {
		for _, b := range old.metrics {
			if a.Head.Seed != b.Head.Seed || len(a.Trials) < 2 || a.End.regression() || a.byLoss() {
				continue
			}
			for i := range min(len(a.Trials), len(b.Trials)) {
				x, y := &a.Trials[i], &b.Trials[i]
				if x.Number != y.Number || !x.holds(y.Params) {
					continue
				}
				if p, ok := pairOf(x.scores(fresh.Target), y.scores(old.Target)); ok {
					p.seed = a.Head.Seed
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs
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

// pairOf compares the last rounds that two arms have both run; ok is false when
// there is none, or a score is not finite.
func pairOf(fresh, old []*float64) (p armPair, ok bool) {
	n := min(len(fresh), len(old))
	from := max(0, n-armRounds)
	var a, b float64
	for i := from; i < n; i++ {
		if fresh[i] == nil || old[i] == nil {
			return armPair{}, false
		}
		a, b = a+*fresh[i], b+*old[i]
	}
	rounds := float64(n - from)
	return armPair{gain: 100 * (b - a) / rounds, learnt: min(a, b)/rounds < learntBelow}, n > 0
}
