package repro

import (
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

const pflPaper = "pfl-research (2024)"

// pflModel is the simple_cnn of pfl-research's benchmarks.
const pflModel = `model.layers=[{type="conv", filters=32, kernel=3}, {type="relu"}, {type="conv", filters=64, kernel=3}, {type="relu"}, {type="maxpool", size=2}, {type="dropout", rate=0.25}, ` +
	`{type="dense", units=128}, {type="relu"}, {type="dropout", rate=0.5}, {type="dense"}]`

// privateRuns train CIFAR-10 as pfl-research's benchmark does, with noise and without.
var privateRuns = []struct {
	name string
	sets []string
}{
	{"none", nil},
	{"central", []string{"dp.epsilon=2", "dp.delta=1e-6", "dp.clip=0.4", "dp.noise_cohort=1000", "dp.population=10000000"}},
}

// privateTuners tune on FEMNIST with equal numbers of rounds, and privateBudgets with equal
// budgets of privacy for weights and scores together, accounted for as if LEAF's 3,550 writers
// sent in cohorts of 100.
var (
	privateTuners = []struct{ name, tuner, client string }{
		{"random", "random", "none"}, {"sha", "sha", "none"}, {"fedex", "sha", "fedex"},
	}
	privateBudgets = []struct {
		name string
		sets []string
	}{
		{"epsilon1", []string{"dp.epsilon=1"}}, {"epsilon5", []string{"dp.epsilon=5"}}, {"infinite", nil},
	}
)

func privateCells() []Cell {
	var cells []Cell
	for _, arm := range privateRuns {
		t := &Training{
			Key: "dp-cifar10-" + arm.name, Mode: config.ModeRun, Tuner: "random", Seeds: 3, Needs: "cifar10", Shrink: shrinkRounds,
			Sets: append([]string{
				"data.name=cifar10", "data.clients=400", "data.samples=50", "data.split=100/0/files", pflModel, "init=glorot", "cohort=20", "sampling=poisson",
				"client.lr=0.1", "client.batch=10", "client.epochs=1", "eval.every=50", "eval.personalized=false",
				"rounds=1500", "budget.rounds=1500", "budget.trial_rounds=1500", "tuner.options.trials=1",
			}, arm.sets...),
			Deviates: []string{
				"400 clients of 50 images in cohorts of 20, where pfl-research has 1,000 in cohorts of 50: the images at hand are fewer",
				"cohorts by Poisson sampling, as the account has them, and not of a fixed size",
				"1,500 rounds with noise, too, where pfl-research's commands have 3,000",
			},
		}
		cells = append(cells, Cell{
			Name: "dp/cifar10/" + arm.name, Paper: pflPaper, Where: "its benchmarks, CIFAR-10 dealt at random", Instead: "not at hand",
			Unit: "% test accuracy after the last round", Training: t, Measure: lastAccuracy,
		})
	}
	for _, budget := range privateBudgets {
		for _, arm := range privateTuners {
			t := &Training{
				Key: "dp-tuners-" + budget.name + "-" + arm.name, Mode: config.ModeTune, Preset: "dp", Tuner: arm.tuner, ClientTuner: arm.client, Seeds: 3,
				Needs: "leaf-femnist", Shrink: shrinkFedex,
				Sets: []string{
					"data.name=leaf-femnist", "data.split=80/10/10", "method=reptile", "cohort=10", "target=global", "select=" + config.SelectFinalists, "finalists.survivors=4", "finalists.snapshots=4",
					"score.discount=0.9", "eval.every=-1", "eval.personalized=false", "dp.epsilon=0", "dp.clip=0",
					"rounds=100", "budget.rounds=1000", "budget.trial_rounds=100",
					`space."server.lr"={log10=[-1,1]}`, `space."client.lr"={log10=[-3,0]}`, `space."client.momentum"={uniform=[0,0.9]}`, `space."client.batch"={log2=[3,6]}`,
				},
				Deviates: []string{"105 writers of LEAF's FEMNIST, a network of 26,000 weights, and a space of four hyperparameters: ours"},
			}
			if budget.sets != nil {
				t.Sets = override(t.Sets, append([]string{"dp.delta=1e-5", "dp.clip=0.3", "dp.noise_cohort=100", "dp.population=3550"}, budget.sets...))
				t.Deviates = append(t.Deviates, "the account is for LEAF's 3,550 writers in cohorts of 100, whose noise the means here have, and not for the writers at hand")
			}
			if arm.tuner == "sha" {
				t.Sets = append(t.Sets, "tuner.options.eliminations=3")
			}
			cells = append(cells, Cell{
				Name: "dp/tuners/" + budget.name + "/" + arm.name, Paper: "beyond the papers", Where: "no table", Instead: "not published",
				Unit: "% test error", Training: t, Measure: returnedError(tuners.TargetGlobal),
			})
		}
	}
	return cells
}

func privateClaims() []Comparison {
	claims := []Comparison{{Name: "dp/cifar10", Claim: "what privacy costs: accuracy without noise above that with it", New: "dp/cifar10/none", Old: "dp/cifar10/central", Higher: true}}
	for _, budget := range privateBudgets {
		name := "dp/tuners/" + budget.name
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
