package repro

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/stats"
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

// ablationFigures are two for each set of data and variant, over each setting of which
// two values were run: what an arm gains by FedEx, and what it gains, with FedEx, over
// one with the paper's own value.
func (r *Report) ablationFigures() []*figure.Figure {
	var all figures
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		path := strings.Split(v.Name, "/") // fedex-ablation/SET/SETTING/VALUE/TARGET, or .../VALUE/beside-own/TARGET
		if path[0] != "fedex-ablation" || v.Pairs.N < 2 {
			continue
		}
		name, title := path[0]+"/"+path[1], "what FedEx gains for an arm, "
		beside := path[4] == besideOwn
		if beside {
			name, title = name+"/"+besideOwn, "what an arm with FedEx gains over one with the paper's setting, "
		}
		f := all.of(name, v.Variant, func() *figure.Figure {
			return &figure.Figure{
				Title: title + path[1] + " (" + variantText(v.Variant) + ")",
				Note:  "Points of test error on all clients at an arm's end, by pairs of the same seed; bars: 90 % interval (Student's t).",
			}
		})
		a := &ablations[slices.IndexFunc(ablations, func(a ablation) bool { return a.name == path[2] })]
		f.Panels = a.add(f.Panels, beside, path[3], path[len(path)-1], v.Pairs.Test)
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

// add adds the gain of a value to the panel of its setting. Beside the paper's own
// value that one has its place, with a gain of 0.
func (a *ablation) add(panels []figure.Panel, beside bool, value, target string, gain stats.Sample) []figure.Panel {
	panel := figure.Panel{
		Title: a.name, X: figure.Axis{Label: a.name + " (the paper's: " + a.own + ")", Names: a.values}, Y: figure.Axis{Label: "gain, points", Bands: true},
	}
	if beside {
		panel.Lines = []figure.Line{a.ownLine(fedexTargets[0]), a.ownLine(fedexTargets[1])}
	}
	return addPoint(panels, panel, target, figure.Point{X: a.place(value), Y: gain.Mean, Half: gain.Half})
}

// ownLine is one on which only the paper's own value has a point.
func (a *ablation) ownLine(name string) figure.Line {
	return figure.Line{Name: name, Points: []figure.Point{{X: a.place(a.own)}}}
}

// place is the place of a value among the others, from 1 on.
func (a *ablation) place(value string) float64 { return float64(1 + slices.Index(a.values, value)) }
