package repro

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/tuner/fedex"
	"github.com/fedfast/fedfast/tuners"
)

const fedexPaper = "FedEx (Khodak et al., NeurIPS 2021)"

// fedexSet is a set of data of FedEx's experiments, with the settings of the paper's text as training has them.
type fedexSet struct {
	Name, Preset, Needs      string
	Sets, Switches, Deviates []string
	AsPaper                  []string `toml:"as_paper"`
}

const oneArm = "arm"

var (
	fedexWrappers = []string{"rs", "sha"}
	fedexTargets  = []string{tuners.TargetPersonalized, tuners.TargetGlobal}
	fedexTunings  = []string{"alone", "fedex"}
)

// fedexSeeds is how many seeds make a number of Table 1 (its caption).
func fedexSeeds(needs, wrapper string) int {
	switch {
	case needs == "leaf-shakespeare":
		return 5
	case needs == "cifar10" && wrapper == "sha":
		return 6
	}
	return 10
}

// fedexTraining is the training of a cell of Table 1; the wrapper oneArm is random search of
// whatever its budget holds. That of the global target
// takes the rounds of the personalized one.
func fedexTraining(set fedexSet, wrapper, target, tuning string) *Training {
	name := func(target string) string {
		return fmt.Sprintf("fedex-%s-%s-%s-%s", set.Name, wrapper, target, tuning)
	}
	t := &Training{
		Key: name(target), Mode: config.ModeTune, Preset: set.Preset, Tuner: "sha", ClientTuner: "fedex",
		Seeds: fedexSeeds(set.Needs, wrapper), Needs: set.Needs, Shrink: shrinkFedex,
		Sets:     append([]string{"target=" + target, "score.both=true", "eval.every=25"}, set.Sets...),
		AsPaper:  []string{"objective=loss", `space."server.momentum"={uniform=[0,0.9]}`, `space."client.mu"="none"`},
		Switches: []string{papers().FedEx.Switch},
	}
	if model := papers().FedEx.Networks[set.Needs]; model != "" {
		t.AsPaper = append(t.AsPaper, "model="+model)
	}
	t.AsPaper, t.Switches, t.Deviates = append(t.AsPaper, set.AsPaper...), append(t.Switches, set.Switches...), slices.Clone(set.Deviates)
	if wrapper != "sha" {
		t.Tuner = "random"
	}
	if wrapper == "rs" {
		t.AsPaper = append(t.AsPaper, papers().FedEx.RandomAsPaper[set.Needs]...)
		t.Switches = append(t.Switches, "as the authors' code, not the paper's text: random search has 5 arms of 800 "+
			"rounds (FEMNIST: 10 of 200), where appendix C.3 has 27 arms, which is 148 rounds each (74) of the same budget")
	}
	if tuning == "alone" {
		t.ClientTuner = "none"
	} else {
		t.Sets = append(t.Sets, "client_tuner.options."+droppedOption+"="+fedex.Worst)
		t.AsPaper = append(t.AsPaper, "client_tuner.options.as_paper=true")
		t.Switches = append(t.Switches, "as the authors' code, not the paper's text: whole hyperparameters of FedEx's configurations lie in c +- ceil(w), and all are clipped to the space")
	}
	if target == tuners.TargetGlobal {
		t.Shares = name(tuners.TargetPersonalized)
	}
	return t
}

// shrinkFedex scales a study's budget, in rounds.
func shrinkFedex(c *config.Config, scale float64) []string {
	t, m := c.Budget.Rounds, c.Budget.TrialRounds
	c.Budget.TrialRounds = shrunk(m, scale, 1)
	c.Budget.Rounds = c.Budget.TrialRounds * t / m
	c.Rounds = c.Budget.TrialRounds
	c.Eval.Every = max(1, c.Budget.TrialRounds/8)
	return []string{fmt.Sprintf("scaled by %v: %d rounds in all, at most %d a trial, instead of %d and %d", scale, c.Budget.Rounds, c.Budget.TrialRounds, t, m)}
}

func fedexTable() []Cell {
	var cells []Cell
	for i, set := range papers().FedEx.Sets {
		for _, wrapper := range fedexWrappers {
			for _, target := range fedexTargets {
				for _, tuning := range fedexTunings {
					path := wrapper + "/" + target + "/" + tuning
					n := papers().FedEx.Errors[path][i]
					cells = append(cells, Cell{
						Name: "fedex-table1/" + set.Name + "/" + path, Paper: fedexPaper, Where: "Table 1", Unit: "% test error",
						Published: &Published{Mean: n[0], SD: n[1], Seeds: fedexSeeds(set.Needs, wrapper)},
						Training:  fedexTraining(set, wrapper, target, tuning), Measure: returnedError(target), Survivor: survivorError(target), Target: target,
					})
				}
			}
		}
	}
	return cells
}

// returnedError is the test error, in percent, of the model that a study returns.
func returnedError(target string) func(*Metrics) (float64, bool) {
	return func(m *Metrics) (float64, bool) { return m.End.test(m.End.Best, target), true }
}

// survivorError is the error of the trial that the wrapper kept to the end, as it was at
// its end; NaN where that trial failed on its last rounds.
func survivorError(target string) func(*Metrics) (float64, bool) {
	return func(m *Metrics) (float64, bool) { return m.End.test(m.End.Survivor, target), true }
}

// test is the test error, as reports show it, of a model under a target; NaN without
// one.
func (e *End) test(r *Returned, target string) float64 {
	if r == nil {
		return math.NaN()
	}
	x := r.GlobalTest
	if target == tuners.TargetPersonalized {
		x = r.PersonalizedTest
	}
	if x == nil {
		return math.NaN()
	}
	return e.error(*x)
}

func fedexClaims() []Comparison {
	var claims []Comparison
	for _, set := range papers().FedEx.Sets {
		for _, wrapper := range fedexWrappers {
			for _, target := range fedexTargets {
				name := "fedex-table1/" + set.Name + "/" + wrapper + "/" + target
				claims = append(claims, Comparison{Name: name, Claim: "FedEx improves on its wrapper", New: name + "/fedex", Old: name + "/alone"})
			}
		}
	}
	return claims
}

// fedexFigures are the studies of single settings. The papers print their points in
// pictures alone, so there are no published numbers.
func fedexFigures() []Cell {
	femnist, cifar := papers().FedEx.Sets[3], papers().FedEx.Sets[4]
	// A study whose one setting is Table 1's own belongs to Table 1: it has no
	// sets.
	cell := func(name, paper, where string, set fedexSet, tuning string, seeds int, sets, deviates []string) Cell {
		t := fedexTraining(set, "sha", tuners.TargetPersonalized, tuning)
		if len(sets) > 0 {
			t.Key, t.Seeds = keyOf(name), seeds
			t.Sets = append(t.Sets, sets...)
			t.Deviates = append(t.Deviates, deviates...)
		}
		return Cell{
			Name: name, Paper: paper, Where: where, Unit: "% test error", Training: t, Measure: returnedError(tuners.TargetPersonalized),
			Survivor: survivorError(tuners.TargetPersonalized), Target: tuners.TargetPersonalized,
		}
	}
	set := func(discount string) []string { return []string{"score.discount=" + discount} }
	var cells []Cell
	for _, data := range []fedexSet{femnist, cifar} {
		for _, discount := range papers().FedEx.Discounts {
			sets := set(discount)
			if discount == "0" {
				sets = nil
			}
			cells = append(cells, cell("fedex-fig2/"+data.Name+"/discount"+discount, fedexPaper, "Figure 2", data, "alone", fedexSeeds(data.Needs, "sha"), sets,
				[]string{"the figure names neither the target nor how often it was repeated: personalized, as often as Table 1"}))
		}
	}
	for _, eps := range papers().FedEx.Eps {
		sets := []string{"client_tuner.options.eps=" + eps}
		switch eps {
		case "0.1":
			sets = nil
		case "1":
			sets = []string{"client_tuner.options.independent=true"}
		}
		cells = append(cells, cell("fedex-fig5/eps"+eps, fedexPaper, "Figure 5", cifar, "fedex", 6, sets,
			[]string{"the figure's values of eps are not printed: these are ours; its 1 is independent draws, as the text says"}))
	}
	for _, schedule := range papers().FedEx.Schedules {
		sets := []string{"client_tuner.options.schedule=" + schedule}
		if schedule == "aggressive" {
			sets = nil
		}
		cells = append(cells, cell("fedex-fig6/"+schedule, fedexPaper, "Figure 6", cifar, "fedex", 6, sets,
			[]string{"the figure names neither its set of data nor how often it was repeated: CIFAR-10, as in Figure 5, as often as Table 1"}))
	}
	return cells
}

// figureClaims ask of each value of the figures' settings whether a study with it returns a
// better model than one with the paper's own.
func figureClaims() []Comparison {
	var claims []Comparison
	for _, figure := range []struct {
		cells, setting, own string
		values              []string
	}{
		{"fedex-fig2/" + papers().FedEx.Sets[3].Name + "/discount", "discount", "0", papers().FedEx.Discounts},
		{"fedex-fig2/" + papers().FedEx.Sets[4].Name + "/discount", "discount", "0", papers().FedEx.Discounts},
		{"fedex-fig5/eps", "eps", "0.1", papers().FedEx.Eps},
		{"fedex-fig6/", "schedule", "aggressive", papers().FedEx.Schedules},
	} {
		for _, value := range figure.values {
			if value != figure.own {
				claims = append(claims, Comparison{
					Name: figure.cells + value + "/" + besideOwn, Claim: fmt.Sprintf("%s %s is better than the paper's %s", figure.setting, value, figure.own),
					New: figure.cells + value, Old: figure.cells + figure.own,
				})
			}
		}
	}
	return claims
}
