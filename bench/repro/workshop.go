package repro

import "github.com/fedfast/fedfast/tuners"

const workshopPaper = "FedEx (Khodak et al., workshop paper 2020)"

// workshopTraining is a study of the workshop paper on Shakespeare's roles, iid or not, under
// successive halving with scores of a discount.
func workshopTraining(set fedexSet, tuning, discount string) *Training {
	t := fedexTraining(set, "sha", tuners.TargetPersonalized, tuning)
	t.Key, t.Seeds = "fedex-workshop-"+set.Name+"-discount"+discount+"-"+tuning, 5
	t.AsPaper = papers().FedEx.Workshop
	t.Switches = []string{"as the authors' code, not the paper's text: the error is minimized, not the loss, in the " +
		"search space of the later paper; appendix B.2 has no server learning rate, lists as server decay, server and " +
		"local momentum and dropout two values each, and has no proximal term"}
	if discount != "0" {
		t.Sets = append(t.Sets, "score.discount="+discount)
	}
	if tuning == "fedex" {
		t.Sets = append(t.Sets, "client_tuner.options.draw_configs=true", "client_tuner.options.independent=true", "client_tuner.options.cutoff=1e-4")
	}
	return t
}

// workshopCells are the figures of the workshop paper, whose numbers are in pictures alone.
func workshopCells() []Cell {
	var cells []Cell
	for _, set := range papers().FedEx.Sets[:2] {
		for _, target := range fedexTargets {
			for _, tuning := range fedexTunings {
				name := "fedex-workshop-fig1/" + set.Name + "/" + target
				cells = append(cells, Cell{
					Name: name + "/" + tuning, Paper: workshopPaper, Where: "Figure 1", Unit: "% test error", Training: workshopTraining(set, tuning, "0"),
					Measure: returnedError(target), Survivor: survivorError(target), Target: target,
				})
			}
		}
	}
	for _, tuning := range fedexTunings {
		for _, discount := range []string{"0", "0.5", "1"} {
			name := "fedex-workshop-fig2/" + tuning
			cells = append(cells, Cell{
				Name: name + "/discount" + discount, Paper: workshopPaper, Where: "Figure 2", Unit: "% test error", Training: workshopTraining(papers().FedEx.Sets[1], tuning, discount),
				Measure: returnedError(tuners.TargetPersonalized), Survivor: survivorError(tuners.TargetPersonalized), Target: tuners.TargetPersonalized,
			})
		}
	}
	for _, schedule := range []string{"constant", "adaptive", "aggressive"} {
		t := workshopTraining(papers().FedEx.Sets[1], "fedex", "0")
		t.Key, t.Tuner, t.Seeds = "fedex-workshop-schedule-"+schedule, "random", 10
		t.Sets = append(t.Sets, "client_tuner.options.schedule="+schedule, "budget.rounds=800", "budget.trial_rounds=800")
		t.Deviates = append(t.Deviates, "the figure says ten repetitions of FedEx without a wrapper, not on which split or of which length: stored order, 800 rounds")
		cells = append(cells, Cell{
			Name: "fedex-workshop-fig3/" + schedule, Paper: workshopPaper, Where: "Figure 3", Unit: "% test error at the end", Training: t,
			Measure: survivorError(tuners.TargetPersonalized), Target: tuners.TargetPersonalized,
		})
	}
	return cells
}

// workshopClaims are the claims of the workshop paper's abstract.
func workshopClaims() []Comparison {
	var claims []Comparison
	for _, set := range papers().FedEx.Sets[:2] {
		for _, target := range fedexTargets {
			name := "fedex-workshop-fig1/" + set.Name + "/" + target
			claims = append(claims, Comparison{Name: name, Claim: "FedEx improves on its wrapper", Words: "1.0 to 1.9", New: name + "/fedex", Old: name + "/alone"})
		}
	}
	return claims
}
