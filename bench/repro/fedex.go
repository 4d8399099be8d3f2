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

// fedexSet is a column of FedEx's Table 1.
type fedexSet struct {
	name, preset, needs string
	sets                []string
	asPaper, switches   []string
	deviates            []string
}

var fedexSets = []fedexSet{
	{"shakespeare-iid", "shakespeare-fedex", "leaf-shakespeare", []string{"data.iid=true"}, nil, nil, nil},
	{"shakespeare-noniid", "shakespeare-fedex", "leaf-shakespeare", []string{"data.iid=false"}, nil, nil, nil},
	{"femnist-iid", "femnist-fedex", "leaf-femnist", []string{"data.iid=true"}, nil, nil, nil},
	{
		"femnist-noniid", "femnist-fedex", "leaf-femnist",
		[]string{"data.iid=false"},
		[]string{"data.iid=true"},
		[]string{"as the authors' code, not the paper's text: a writer's samples are split in stored order, not at random"},
		[]string{"files that LEAF has cut into training and test already: the end of a writer's samples, which are stored " +
			"by class, is mostly LEAF's test part, so validation and test have different classes"},
	},
	{"cifar10-iid", "cifar10-fedex", "cifar10", nil, nil, nil, nil},
}

// fedexSwitch says what the authors' code has and appendix D.2 has not.
const fedexSwitch = "as the authors' code, not the paper's text: the error, not the loss, is minimized; the server's momentum is 0 or 0.9, not uniform in [0, 0.9]; " +
	"a proximal term mu is tuned, which appendix D.2 does not list; the networks for images are not those of McMahan et al. and LEAF that the text names"

// fedexNetworks are those that the paper's text names, where they are not the code's: of
// McMahan et al. (2017), and of LEAF.
var fedexNetworks = map[string]string{"cifar10": "mcmahan-cifar-cnn", "leaf-femnist": "leaf-femnist-cnn"}

// randomAsPaper spends a study's budget on the 27 arms that appendix C.3 gives random search.
var randomAsPaper = map[string][]string{
	"cifar10":          {"rounds=148", "budget.rounds=3996", "budget.trial_rounds=148"},
	"leaf-shakespeare": {"rounds=148", "budget.rounds=3996", "budget.trial_rounds=148"},
	"leaf-femnist":     {"rounds=74", "budget.rounds=1998", "budget.trial_rounds=74"},
}

// fedexErrors are the means and standard deviations of FedEx's Table 1, in percent:
// by wrapper, target and tuning, in the order of fedexSets.
var fedexErrors = map[string][5][2]float64{
	"rs/global/alone":        {{60.32, 10.03}, {64.36, 14.19}, {22.81, 4.56}, {22.98, 3.41}, {30.46, 9.44}},
	"rs/global/fedex":        {{53.94, 9.13}, {57.70, 17.57}, {20.96, 4.77}, {22.30, 3.66}, {34.83, 14.74}},
	"rs/personalized/alone":  {{61.10, 9.32}, {61.71, 9.08}, {17.45, 2.82}, {17.77, 2.63}, {34.89, 10.56}},
	"rs/personalized/fedex":  {{54.90, 9.97}, {56.48, 13.60}, {16.31, 3.77}, {15.93, 3.06}, {39.13, 15.13}},
	"sha/global/alone":       {{47.38, 3.40}, {46.79, 3.51}, {18.64, 1.68}, {20.30, 1.66}, {21.62, 2.51}},
	"sha/global/fedex":       {{44.52, 1.68}, {45.24, 3.31}, {19.22, 2.05}, {19.43, 1.45}, {20.82, 1.37}},
	"sha/personalized/alone": {{46.77, 3.61}, {48.04, 3.72}, {14.79, 1.55}, {14.78, 1.31}, {24.81, 6.13}},
	"sha/personalized/fedex": {{46.08, 2.57}, {45.89, 3.76}, {14.97, 1.31}, {14.76, 1.70}, {21.77, 2.83}},
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
		return fmt.Sprintf("fedex-%s-%s-%s-%s", set.name, wrapper, target, tuning)
	}
	t := &Training{
		Key: name(target), Mode: config.ModeTune, Preset: set.preset, Tuner: "sha", ClientTuner: "fedex",
		Seeds: fedexSeeds(set.needs, wrapper), Needs: set.needs, Shrink: shrinkFedex,
		Sets:     append([]string{"target=" + target, "score.both=true", "eval.every=25"}, set.sets...),
		AsPaper:  []string{"objective=loss", `space."server.momentum"={uniform=[0,0.9]}`, `space."client.mu"="none"`},
		Switches: []string{fedexSwitch},
	}
	if model := fedexNetworks[set.needs]; model != "" {
		t.AsPaper = append(t.AsPaper, "model="+model)
	}
	t.AsPaper, t.Switches, t.Deviates = append(t.AsPaper, set.asPaper...), append(t.Switches, set.switches...), slices.Clone(set.deviates)
	if wrapper != "sha" {
		t.Tuner = "random"
	}
	if wrapper == "rs" {
		t.AsPaper = append(t.AsPaper, randomAsPaper[set.needs]...)
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
	for i, set := range fedexSets {
		for _, wrapper := range fedexWrappers {
			for _, target := range fedexTargets {
				for _, tuning := range fedexTunings {
					path := wrapper + "/" + target + "/" + tuning
					n := fedexErrors[path][i]
					cells = append(cells, Cell{
						Name: "fedex-table1/" + set.name + "/" + path, Paper: fedexPaper, Where: "Table 1", Unit: "% test error",
						Published: &Published{Mean: n[0], SD: n[1], Seeds: fedexSeeds(set.needs, wrapper)},
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
	for _, set := range fedexSets {
		for _, wrapper := range fedexWrappers {
			for _, target := range fedexTargets {
				name := "fedex-table1/" + set.name + "/" + wrapper + "/" + target
				claims = append(claims, Comparison{Name: name, Claim: "FedEx improves on its wrapper", New: name + "/fedex", Old: name + "/alone"})
			}
		}
	}
	return claims
}

// The values of the figures' settings, of which discount 0, eps 0.1 and the aggressive
// schedule are the paper's own.
var (
	figureDiscounts = []string{"0", "0.5", "1"}
	figureEps       = []string{"0", "0.01", "0.05", "0.1", "0.2", "0.5", "1"}
	figureSchedules = []string{"constant", "adaptive", "aggressive"}
)

// fedexFigures are the studies of single settings. The papers print their points in
// pictures alone, so there are no published numbers.
func fedexFigures() []Cell {
	femnist, cifar := fedexSets[3], fedexSets[4]
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
		for _, discount := range figureDiscounts {
			sets := set(discount)
			if discount == "0" {
				sets = nil
			}
			cells = append(cells, cell("fedex-fig2/"+data.name+"/discount"+discount, fedexPaper, "Figure 2", data, "alone", fedexSeeds(data.needs, "sha"), sets,
				[]string{"the figure names neither the target nor how often it was repeated: personalized, as often as Table 1"}))
		}
	}
	for _, eps := range figureEps {
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
	for _, schedule := range figureSchedules {
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
		{"fedex-fig2/" + fedexSets[3].name + "/discount", "discount", "0", figureDiscounts},
		{"fedex-fig2/" + fedexSets[4].name + "/discount", "discount", "0", figureDiscounts},
		{"fedex-fig5/eps", "eps", "0.1", figureEps},
		{"fedex-fig6/", "schedule", "aggressive", figureSchedules},
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
