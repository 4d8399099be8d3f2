package repro

import (
	"fmt"
	"slices"
	"strings"
)

// ablation is one setting that is varied; FedEx's other settings are the paper's.
type ablation struct {
	Name, Option, Own string
	Values            []string
	Alone             bool
}

// clipped ends the name of a value of eps whose neighbourhoods reach beyond the space on
// both sides: they are clipped to it, and much of them lies on its bounds. What the paper
// calls eps 1 is independent draws.
const clipped = "-clipped"

// ablationPairs is how often each is repeated: less than what the paper's own
// settings get.
const ablationPairs = 30

// ablationSets are the sets of data on which settings are varied.
func ablationSets() []pairedSet {
	return slices.DeleteFunc(slices.Clone(papers().FedEx.Paired), func(s pairedSet) bool { return s.Name != "femnist-iid" && s.Name != "cifar10" })
}

// training is the model of a value, with FedEx or alone.
func (a *ablation) training(set pairedSet, value, tuning string) *Training {
	t := pairedTraining(set, tuning)
	if value != a.Own && (tuning == "fedex" || a.Alone) {
		t.Seeds = ablationPairs
		setting := strings.TrimSuffix(value, clipped)
		t.Key = fmt.Sprintf("fedex-ablation-%s-%s%s-%s", set.Name, a.Name, setting, tuning)
		t.Sets = append(t.Sets, a.Option+"="+setting)
		t.Deviates = append(t.Deviates, a.Name+" "+value+" instead of the paper's "+a.Own)
	}
	return t
}

// base is the name under which the arms without FedEx stand that a value is compared
// with.
func (a *ablation) base(value string) string {
	if a.Alone {
		return value + "/alone"
	}
	return "alone"
}

// eachAblation calls f with every value of every setting on every set of data, and with
// what the names of its cells begin with.
func eachAblation(f func(set pairedSet, a *ablation, value, name string)) {
	for _, set := range ablationSets() {
		for i := range papers().FedEx.Ablations {
			a := &papers().FedEx.Ablations[i]
			for _, value := range a.Values {
				f(set, a, value, fmt.Sprintf("fedex-ablation/%s/%s/", set.Name, a.Name))
			}
		}
	}
}

func ablationCells() []Cell {
	var cells []Cell
	eachAblation(func(set pairedSet, a *ablation, value, name string) {
		for _, tuning := range fedexTunings {
			own := name + value + "/fedex"
			if tuning != "fedex" {
				if !a.Alone && value != a.Values[0] { // it has no arms of its own without FedEx
					continue
				}
				own = name + a.base(value)
			}
			for _, target := range fedexTargets {
				cells = append(cells, armCell(own+"/"+target, a.training(set, value, tuning), target))
			}
		}
	})
	return cells
}

// ablationClaims ask of each value whether FedEx gains with it, and whether arms with
// FedEx end better with it than with the paper's own.
func ablationClaims() []Comparison {
	var claims []Comparison
	eachAblation(func(_ pairedSet, a *ablation, value, name string) {
		for _, target := range fedexTargets {
			fresh := name + value + "/fedex/" + target
			claims = append(claims, Comparison{Name: name + value + "/" + target, Claim: pairedClaim, New: fresh, Old: name + a.base(value) + "/" + target})
			if value != a.Own {
				claims = append(claims, Comparison{
					Name: name + value + "/" + besideOwn + "/" + target, Claim: fmt.Sprintf("%s %s is better than the paper's %s", a.Name, value, a.Own),
					New: fresh, Old: name + a.Own + "/fedex/" + target,
				})
			}
		}
	})
	return claims
}

// besideOwn is in the names of comparisons with the paper's own value.
const besideOwn = "beside-own"
