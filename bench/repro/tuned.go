package repro

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// timeGoal is the test accuracy of the experiment on tuning in simulated time.
const timeGoal = 0.6

// tunedArms tune on the built-in phones, with the same simulated seconds each: by
// validation error or by the time to a goal on a server that does not wait, and with FedEx
// on one that waits and on one that does not.
var tunedArms = []struct {
	name, client string
	sets         []string
}{
	{"error", "none", []string{"eval.goal=0"}},
	{"time", "none", []string{"objective=seconds_to_goal", fmt.Sprint("eval.goal=", timeGoal)}},
	{"fedex", "fedex", []string{"eval.goal=0", "time.mode=sync"}},
	{"fedex-buffered", "fedex", []string{"eval.goal=0"}},
}

func tunedCells() []Cell {
	const table = "fleet/tuning/"
	var cells []Cell
	for _, arm := range tunedArms {
		t := &Training{
			Key: "fleet-tuning-" + arm.name, Mode: config.ModeTune, Preset: "fedbuff", Tuner: "sha", ClientTuner: arm.client, Seeds: 3, Needs: "leaf-femnist", Shrink: shrinkSeconds,
			Sets: append([]string{
				"data.name=leaf-femnist", "fleet.dropout=0", "eval.every=0", "eval.every_seconds=2", "target=global", "budget.rounds=0", "budget.trial_rounds=0",
				"budget.seconds=270", "budget.trial_seconds=60", "tuner.options.eliminations=2", `space."client.lr"={log10=[-2,0]}`,
			}, arm.sets...),
			Deviates: []string{"105 writers of LEAF's FEMNIST, a small CNN, and fedfast's fleet of phones: ours"},
		}
		if arm.client == "none" {
			t.Sets = append(t.Sets, `space."time.buffer"={int=[1,30]}`)
		}
		cell := func(what, unit string, measure func(*Metrics) (float64, bool)) {
			cells = append(cells, Cell{Name: table + arm.name + "/" + what, Paper: "beyond the papers", Where: "no table", Instead: "not published", Unit: unit, Training: t, Measure: measure})
		}
		cell("error", "% test error", returnedError(tuners.TargetGlobal))
		cell("seconds", fmt.Sprintf("simulated seconds of the winner to %.0f %% test accuracy", 100*timeGoal), winnerToGoal)
		cell("lr", "log10 of the winner's client.lr", winners("client.lr"))
		if arm.client == "none" {
			cell("buffer", "the winner's time.buffer", winners("time.buffer"))
		}
	}
	return cells
}

// winner is the trial that a study returns.
func (m *Metrics) winner() *TrialLine {
	i := slices.IndexFunc(m.Trials, func(t TrialLine) bool { return m.End.Best != nil && t.Number == m.End.Best.Trial })
	if i < 0 {
		return nil
	}
	return &m.Trials[i]
}

// winners reads a hyperparameter of the returned trial.
func winners(name string) func(*Metrics) (float64, bool) {
	return func(m *Metrics) (float64, bool) {
		w := m.winner()
		if w == nil {
			return math.NaN(), true
		}
		x, ok := w.Params[name].Float()
		switch {
		case !ok:
			return math.NaN(), true
		case name == "client.lr":
			return math.Log10(x), true
		}
		return x, true
	}
}

// winnerToGoal is the simulated time at which the returned trial reached the goal.
func winnerToGoal(m *Metrics) (float64, bool) {
	w := m.winner()
	if w == nil {
		return math.NaN(), false
	}
	return reached(w.Test, timeGoal, clockAt)
}

// shrinkSeconds scales the simulated seconds of a study.
func shrinkSeconds(c *config.Config, scale float64) []string {
	b := &c.Budget
	all, trial := b.Seconds, b.TrialSeconds
	b.Seconds, b.TrialSeconds = shrunk(all, scale, 27), shrunk(trial, scale, 27)
	return []string{fmt.Sprintf("scaled by %v: %v simulated seconds, %v a trial, instead of %v and %v", scale, b.Seconds, b.TrialSeconds, all, trial)}
}

func tunedClaims() []Comparison {
	return []Comparison{
		{Name: "fleet/tuning", Claim: "who tunes for the time to a goal gets there sooner", New: "fleet/tuning/time/seconds", Old: "fleet/tuning/error/seconds"},
		{Name: "fleet/tuning", Claim: "who tunes for the error ends with a lower one", New: "fleet/tuning/error/error", Old: "fleet/tuning/time/error"},
		{Name: "fleet/tuning", Claim: "FedEx on rounds that wait ends with a lower error than buffered rounds without it", New: "fleet/tuning/fedex/error", Old: "fleet/tuning/error/error"},
		{Name: "fleet/tuning", Claim: "FedEx on buffered rounds ends with a lower error than on rounds that wait", New: "fleet/tuning/fedex-buffered/error", Old: "fleet/tuning/fedex/error"},
	}
}
