package repro

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

const pflPaper = "pfl-research (2024)"

func privateCells() []Cell {
	var cells []Cell
	private := papers().Private
	for _, arm := range private.Runs {
		t := &Training{
			Key: "dp-cifar10-" + arm.Name, Mode: config.ModeRun, Tuner: "random", Seeds: 3, Needs: "cifar10", Shrink: shrinkRounds,
			Sets: slices.Concat(private.Sets, arm.Sets), Deviates: private.Deviates,
		}
		cells = append(cells, Cell{
			Name: "dp/cifar10/" + arm.Name, Paper: pflPaper, Where: "its benchmarks, CIFAR-10 dealt at random", Instead: "not at hand",
			Unit: "% test accuracy after the last round", Training: t, Measure: lastAccuracy,
		})
	}
	for _, budget := range private.Tuning.Budgets {
		for _, arm := range private.Tuning.Tuners {
			t := &Training{
				Key: "dp-tuners-" + budget.Name + "-" + arm.Name, Mode: config.ModeTune, Preset: "dp", Tuner: arm.Tuner, ClientTuner: arm.Client, Seeds: 3,
				Needs: "leaf-femnist", Shrink: shrinkFedex,
				Sets: slices.Clone(private.Tuning.Sets), Deviates: slices.Clone(private.Tuning.Deviates),
			}
			if len(budget.Sets) > 0 {
				t.Sets = override(t.Sets, slices.Concat(private.Tuning.DP, budget.Sets))
				t.Deviates = append(t.Deviates, "the account is for LEAF's 3,550 writers in cohorts of 100, whose noise the means here have, and not for the writers at hand")
			}
			if arm.Tuner == "sha" {
				t.Sets = append(t.Sets, "tuner.options.eliminations=3")
			}
			cells = append(cells, Cell{
				Name: "dp/tuners/" + budget.Name + "/" + arm.Name, Paper: "beyond the papers", Where: "no table", Instead: "not published",
				Unit: "% test error", Training: t, Measure: returnedError(tuners.TargetGlobal),
			})
		}
	}
	return cells
}

func privateClaims() []Comparison {
	claims := []Comparison{{Name: "dp/cifar10", Claim: "what privacy costs: accuracy without noise above that with it", New: "dp/cifar10/none", Old: "dp/cifar10/central", Higher: true}}
	for _, budget := range papers().Private.Tuning.Budgets {
		name := "dp/tuners/" + budget.Name
		claims = append(claims,
			Comparison{Name: name, Claim: "successive halving beats random search", New: name + "/sha", Old: name + "/random"},
			Comparison{Name: name, Claim: "FedEx improves on successive halving", New: name + "/fedex", Old: name + "/sha"},
		)
	}
	return claims
}

// shrinkRounds scales the rounds.
func shrinkRounds(c *config.Config, scale float64) []string {
	rounds := c.Rounds
	c.Rounds = shrunk(rounds, scale, 1)
	c.Budget.Rounds, c.Budget.TrialRounds = c.Rounds, c.Rounds // as a study of one trial has
	return []string{fmt.Sprintf("scaled by %v: %d rounds instead of %d", scale, c.Rounds, rounds)}
}
