package repro

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/tuners"
)

// armRounds is how many rounds an arm's score is the mean of: one round's, of some
// clients, is mostly noise.
const armRounds = 5

// learntBelow is the validation error below which an arm has learnt something: that
// of guessing is 90 to 98 % on the papers' sets, and one round's cohort scores a
// few points below that by luck.
const learntBelow = 0.8

// orElse returns x, or y when x is NaN.
func orElse(x, y float64) float64 {
	if math.IsNaN(x) {
		return y
	}
	return x
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

// gainOf is by how many points the mean validation error of the last rounds that two arms have both
// run is lower in the first; ok is false when there is none, or a score is not finite.
func gainOf(fresh, old []*float64) (gain float64, ok bool) {
	n := min(len(fresh), len(old))
	from := max(0, n-armRounds)
	var a, b float64
	for i := from; i < n; i++ {
		if fresh[i] == nil || old[i] == nil {
			return 0, false
		}
		a, b = a+*fresh[i], b+*old[i]
	}
	return 100 * (b - a) / float64(n-from), n > 0
}

// rivalCells are arms that the code of FedEx's authors runs too (bench/rival).
func rivalCells() []Cell {
	var cells []Cell
	for _, set := range papers().FedEx.Paired {
		if set.Needs == "leaf-shakespeare" || set.Name == "femnist-redealt" {
			continue
		}
		if set.Needs == "leaf-femnist" { // in stored order the split needs no draw
			set.Name, set.Sets, set.Deviates = "femnist", papers().FedEx.Sets[3].Sets, slices.Clone(papers().FedEx.Sets[3].Deviates)
		}
		set.Pairs, set.Rounds = 5, 60
		for _, tuning := range fedexTunings {
			t := pairedTraining(set, tuning)
			t.Key = "fedex-rival-" + set.Name + "-" + tuning
			t.Sets = append(t.Sets, papers().FedEx.Rival...)
			if tuning == "fedex" {
				t.Sets = append(t.Sets, "client_tuner.options.eps=1") // of this smaller space
			}
			t.Deviates = append(t.Deviates, "hyperparameters of a neighbourhood that learns, for a comparison with the authors' code (bench/rival)")
			for _, target := range fedexTargets {
				cells = append(cells, armCell("fedex-rival/"+set.Name+"/"+tuning+"/"+target, t, target))
			}
		}
	}
	return cells
}
