package repro

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// pairedSet is a set of data on which arms are run with and without FedEx.
type pairedSet struct {
	fedexSet
	// pairs is how many were planned for a 90 % interval of +- 1 point, rounds how many an arm has.
	pairs, rounds int
}

var pairedSets = []pairedSet{
	{fedexSet{"femnist-iid", "femnist-fedex", "leaf-femnist", []string{"data.iid=true"}, nil, nil, nil}, 120, 200},
	{
		fedexSet{
			"femnist-redealt", "femnist-fedex", "leaf-femnist",
			[]string{"data.iid=true", "data.partition=dirichlet", "data.alpha=0.3", "data.clients=101"},
			nil, nil,
			[]string{"the paper's clients are writers; these are dealt all writers' samples anew by classes (Dirichlet, 0.3), and a client's are shuffled before they are split, so that its validation and test examples are alike"},
		}, 120, 200,
	},
	{fedexSet{"cifar10", "cifar10-fedex", "cifar10", nil, nil, nil, nil}, 80, 800},
	{
		fedexSet{
			"shakespeare", "shakespeare-fedex", "leaf-shakespeare",
			[]string{"data.iid=false", "data.min_samples=1000", "data.max_samples=1000", "cohort=5", "eval.clients=30"},
			nil, nil,
			[]string{"1,000 windows of each role that has as many, 5 clients a round instead of 10 and arms of 100 rounds instead of 800: the smallest scale at which something is learnt"},
		}, 80, 100,
	},
}

// pairedTraining is the training of one arm per seed: with FedEx it
// has the hyperparameters, the split, the first weights and the cohorts that it has
// without.
func pairedTraining(set pairedSet, tuning string) *Training {
	t := fedexTraining(set.fedexSet, oneArm, tuners.TargetPersonalized, tuning)
	t.Key = "fedex-paired-" + set.name + "-" + tuning
	t.Seeds = set.pairs
	t.Sets = append(t.Sets, fmt.Sprintf("rounds=%d", set.rounds), fmt.Sprintf("budget.rounds=%d", set.rounds), fmt.Sprintf("budget.trial_rounds=%d", set.rounds))
	t.Deviates = append(t.Deviates, "a seed trains one arm, not a study of several: what a wrapper makes of arms is drawn from those that are recorded")
	return t
}

// pairedCells are arms with and without FedEx: the errors on all clients' test
// examples of both models where the arm ends.
func pairedCells() []Cell {
	var cells []Cell
	for _, set := range pairedSets {
		for _, target := range fedexTargets {
			for _, tuning := range fedexTunings {
				cells = append(cells, armCell("fedex-paired/"+set.name+"/"+target+"/"+tuning, pairedTraining(set, tuning), target))
			}
		}
	}
	return cells
}

// armCell is a cell of arms that are seeds of their own.
func armCell(name string, t *Training, target string) Cell {
	return Cell{
		Name: name, Paper: fedexPaper, Where: "no table", Instead: "not published", Unit: "% test error at an arm's end",
		Training: t, Measure: survivorError(target), Target: target,
	}
}

// pairedClaim is what FedEx is run for.
const pairedClaim = "FedEx improves an arm of the same hyperparameters"

func pairedClaims() []Comparison {
	var claims []Comparison
	for _, set := range pairedSets {
		for _, target := range fedexTargets {
			name := "fedex-paired/" + set.name + "/" + target
			claims = append(claims, Comparison{Name: name, Claim: pairedClaim, New: name + "/fedex", Old: name + "/alone"})
		}
	}
	return claims
}
