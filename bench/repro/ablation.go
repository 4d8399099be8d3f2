package repro

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/bench/figure"
)

// ablation is one setting that is varied; FedEx's other settings are the paper's.
type ablation struct {
	name, option string
	values       []string
	// own is the value of the paper, whose arms are those of fedex-paired.
	own string
	// alone says that the setting also changes arms without FedEx.
	alone bool
}

var ablations = []ablation{
	{name: "eps", option: "client_tuner.options.eps", values: []string{"0", "0.01", "0.05", "0.1", "0.2", "0.5", "1"}, own: "0.1"},
	{name: "schedule", option: "client_tuner.options.schedule", values: []string{"constant", "adaptive", "auto", "aggressive"}, own: "aggressive"},
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

// training is that of a value, with FedEx or alone.
func (a *ablation) training(set pairedSet, value, tuning string) *Training {
	t := pairedTraining(set, tuning)
	if value != a.own && (tuning == "fedex" || a.alone) {
		t.Trials = ablationPairs
		t.Key = fmt.Sprintf("fedex-ablation-%s-%s%s-%s", set.name, a.name, value, tuning)
		t.Sets = append(t.Sets, a.option+"="+value)
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

func ablationClaims() []Comparison {
	var claims []Comparison
	eachAblation(func(_ pairedSet, a *ablation, value, name string) {
		for _, target := range fedexTargets {
			claims = append(claims, Comparison{
				Name: name + value + "/" + target, Claim: pairedClaim, New: name + value + "/fedex/" + target, Old: name + a.base(value) + "/" + target,
			})
		}
	})
	return claims
}

// ablationFigures are one for each set of data and variant: the gain of an arm by FedEx
// over each setting of which two values were run.
func (r *Report) ablationFigures() []*figure.Figure {
	var all figures
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		path := strings.Split(v.Name, "/") // fedex-ablation/SET/SETTING/VALUE/TARGET
		if path[0] != "fedex-ablation" || v.Pairs.N < 2 {
			continue
		}
		f := all.of(path[0]+"/"+path[1], v.Variant, func() *figure.Figure {
			return &figure.Figure{
				Title: "what FedEx gains for an arm, " + path[1] + " (" + variantText(v.Variant) + ")",
				Note:  "Points of test error on all clients at an arm's end, by pairs of the same seed; band: 90 % interval (Student's t).",
			}
		})
		f.Panels = addGain(f.Panels, path[2], path[3], path[4], v)
	}
	for _, f := range all {
		f.Panels = slices.DeleteFunc(f.Panels, func(p figure.Panel) bool { return !varied(p) })
	}
	return slices.DeleteFunc(all, func(f *figure.Figure) bool { return len(f.Panels) == 0 })
}

// varied says whether a line of a panel has two values of the setting.
func varied(p figure.Panel) bool {
	return slices.ContainsFunc(p.Lines, func(l figure.Line) bool { return len(l.Points) > 1 })
}

// addGain adds a gain to the panel of its setting.
func addGain(panels []figure.Panel, setting, value, target string, v *Verdict) []figure.Panel {
	a := ablations[slices.IndexFunc(ablations, func(a ablation) bool { return a.name == setting })]
	x, err := strconv.ParseFloat(value, 64)
	label := setting
	if err != nil {
		x = float64(1 + slices.Index(a.values, value))
		label += ": 1 to " + strconv.Itoa(len(a.values)) + " are " + strings.Join(a.values, ", ")
	}
	return addPoint(panels, figure.Panel{Title: setting, X: figure.Axis{Label: label, Whole: setting != "eps"}, Y: figure.Axis{Label: "gain, points", Bands: true}}, target,
		figure.Point{X: x, Y: v.Pairs.Test.Mean, Half: v.Pairs.Test.Half})
}
