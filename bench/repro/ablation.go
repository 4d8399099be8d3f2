package repro

import (
	"fmt"
	"slices"
	"strings"
)

// ablation is one setting that is varied; FedEx's other settings are the paper's.
type ablation struct {
	name, option string
	values       []string
	// own is the value of the paper, whose arms are the arms of fedex-paired.
	own string
	// alone says that the setting also changes arms without FedEx.
	alone bool
}

// clipped ends the name of a value of eps whose neighbourhoods reach beyond the space on
// both sides: they are clipped to it, and much of them lies on its bounds. What the paper
// calls eps 1 is independent draws.
const clipped = "-clipped"

var ablations = []ablation{
	{name: "eps", option: "client_tuner.options.eps", values: []string{"0", "0.01", "0.05", "0.1", "0.2", "0.5", "1" + clipped}, own: "0.1"},
	{name: "independent", option: "client_tuner.options.independent", values: []string{"false", "true"}, own: "false"},
	{name: "cutoff", option: "client_tuner.options.cutoff", values: []string{"0", "1e-4"}, own: "0"},
	{name: "schedule", option: "client_tuner.options.schedule", values: []string{"constant", "adaptive", "auto", "noise", "aggressive"}, own: "aggressive"},
	{name: "configs", option: "client_tuner.options.configs", values: []string{"9", "27", "81"}, own: "27"},
	{name: "cohort", option: "cohort", values: []string{"5", "10", "30"}, own: "10", alone: true},
}

// ablationPairs is how often each is repeated: less than what the paper's own
// settings get.
const ablationPairs = 30

// ablationSets are the sets of data on which settings are varied.
func ablationSets() []pairedSet {
	return slices.DeleteFunc(slices.Clone(pairedSets), func(s pairedSet) bool { return s.name != "femnist-iid" && s.name != "cifar10" })
}

// training is the model of a value, with FedEx or alone.
func (a *ablation) training(set pairedSet, value, tuning string) *Training {
	t := pairedTraining(set, tuning)
	if value != a.own && (tuning == "fedex" || a.alone) {
		t.Seeds = ablationPairs
		setting := strings.TrimSuffix(value, clipped)
		t.Key = fmt.Sprintf("fedex-ablation-%s-%s%s-%s", set.name, a.name, setting, tuning)
		t.Sets = append(t.Sets, a.option+"="+setting)
		t.Deviates = append(t.Deviates, a.name+" "+value+" instead of the paper's "+a.own)
	}
	return t
}

// base is the name under which the arms without FedEx stand that a value is compared
// with.
func (a *ablation) base(value string) string {
	if a.alone {
		return value + "/alone"
	}
	return "alone"
}

// eachAblation calls f with every value of every setting on every set of data, and with
// what the names of its cells begin with.
func eachAblation(f func(set pairedSet, a *ablation, value, name string)) {
	for _, set := range ablationSets() {
		for i := range ablations {
			a := &ablations[i]
			for _, value := range a.values {
				f(set, a, value, fmt.Sprintf("fedex-ablation/%s/%s/", set.name, a.name))
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
				if !a.alone && value != a.values[0] { // it has no arms of its own without FedEx
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
			if value != a.own {
				claims = append(claims, Comparison{
					Name: name + value + "/" + besideOwn + "/" + target, Claim: fmt.Sprintf("%s %s is better than the paper's %s", a.name, value, a.own),
					New: fresh, Old: name + a.own + "/fedex/" + target,
				})
			}
		}
	})
	return claims
}

// besideOwn is in the names of comparisons with the paper's own value.
const besideOwn = "beside-own"
