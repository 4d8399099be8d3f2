package repro

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// What is known of the papers on asynchronous training: FedBuff's abstract, and the times of
// one run of each of two modes that FedScale's authors report.
const (
	fedbuffPaper  = "FedBuff (AISTATS 2022)"
	fedscalePaper = "FedScale (ICML 2022)"
)

// deviceArm is a training on unequal devices.
type deviceArm struct {
	Name           string
	Update, Rounds int
	Sets           []string
}

// inFlight is how many clients train at a time in FedBuff's experiment.
const inFlight = 30

// deviceTraining is the training of an arm on LEAF's FEMNIST and the built-in phones.
func deviceTraining(table string, arm deviceArm, sets, deviates []string) *Training {
	t := &Training{
		Key: table + "-" + arm.Name, Mode: config.ModeRun, Preset: "femnist", Tuner: "random", Seeds: 3, Needs: "leaf-femnist", Shrink: shrinkDevices,
		Deviates: append([]string{"105 writers of LEAF's FEMNIST, reddi-emnist-cnn, and fedfast's fleet of phones: ours"}, deviates...),
	}
	t.Sets = append([]string{"fleet.devices=phones", "eval.personalized=false", "tuner.options.trials=1", fmt.Sprintf("rounds=%d", arm.Rounds)}, sets...)
	t.Sets = append(t.Sets, arm.Sets...)
	for _, key := range []string{"budget.rounds", "budget.trial_rounds"} { // as a study of one trial has
		t.Sets = append(t.Sets, fmt.Sprintf("%s=%d", key, arm.Rounds))
	}
	return t
}

// shrinkDevices scales the most rounds.
func shrinkDevices(c *config.Config, scale float64) []string {
	rounds := c.Rounds
	c.Rounds = shrunk(rounds, scale, max(c.Eval.Every, 1))
	c.Budget.Rounds, c.Budget.TrialRounds = c.Rounds, c.Rounds
	return []string{fmt.Sprintf("scaled by %v: at most %d rounds instead of %d", scale, c.Rounds, rounds)}
}

func deviceCells() []Cell {
	var cells []Cell
	for _, arm := range papers().Devices.FedBuff {
		t := deviceTraining("fleet-fedbuff", arm, []string{fmt.Sprintf("cohort=%d", inFlight), "eval.goal=0.7"}, []string{
			fmt.Sprintf("%d clients train at a time and 10 make a step, where the paper has 1,000 and 10, on CelebA, Sent140 and CIFAR-10", inFlight),
			"plain averages in all arms, where the paper has momentum on the server and tunes the rates of each: client.lr is 0.1, the server's rate 1",
		})
		name := "fleet/fedbuff/" + arm.Name
		cells = append(cells,
			Cell{
				Name: name + "/updates", Paper: fedbuffPaper, Where: "abstract", Instead: "not at hand", Unit: "clients' updates to the goal", Training: t,
				Measure: func(m *Metrics) (float64, bool) {
					return m.reached(func(p result.CurvePoint) float64 { return float64(p.Round * arm.Update) })
				},
			},
			Cell{Name: name + "/seconds", Paper: fedbuffPaper, Where: "no table", Instead: "not published", Unit: "simulated seconds to the goal", Training: t, Measure: clockToGoal})
	}
	published := map[string]float64{"sync": 276.2, "async": 105.1} // 27,618 s in 100 rounds, 18,913 s in 180
	for _, arm := range papers().Devices.FedScale {
		t := deviceTraining("fleet-fedscale", arm, []string{"client.steps=20", "client.epochs=0", "eval.every=10"}, []string{
			"FedScale trains a ResNet-18 on its own FEMNIST of 3,400 writers and its own traces of devices: only the ratio of both times can be compared",
		})
		cells = append(cells, Cell{
			Name: "fleet/fedscale/" + arm.Name, Paper: fedscalePaper, Where: "one run of each mode, reported with the code of its asynchronous mode",
			Unit: "simulated seconds a round", Published: &Published{Mean: published[arm.Name], Seeds: 1}, Training: t, Measure: clockPerRound,
		})
	}
	return cells
}

// clockToGoal is the simulated time at which a training reached its goal.
func clockToGoal(m *Metrics) (float64, bool) { return m.reached(clockAt) }

// clockAt is the simulated time of a point, NaN without a fleet.
func clockAt(p result.CurvePoint) float64 {
	if p.Clock == nil {
		return math.NaN()
	}
	return *p.Clock
}

// clockPerRound is the simulated time of a whole training over its rounds.
func clockPerRound(m *Metrics) (float64, bool) {
	if n := len(m.End.Curve); n > 0 && m.End.Curve[n-1].Clock != nil {
		return *m.End.Curve[n-1].Clock / float64(m.End.Curve[n-1].Round), true
	}
	return math.NaN(), true
}

func deviceClaims() []Comparison {
	const table = "fleet/fedbuff"
	than := func(old, what, claim, words string) Comparison {
		return Comparison{Name: table, Claim: claim, Words: words, Ratio: true, New: table + "/fedbuff/" + what, Old: table + "/" + old + "/" + what}
	}
	return []Comparison{
		than("fedavg", "updates", "buffered rounds need fewer updates than synchronous ones", "3.3 times fewer"),
		than("fedasync", "updates", "buffered rounds need fewer updates than asynchronous ones", "up to 2.5 times fewer"),
		than("fedavg", "seconds", "buffered rounds need less time than synchronous ones (ours)", ""),
		{Name: "fleet/fedscale", Claim: "buffered rounds end sooner than synchronous ones", New: "fleet/fedscale/async", Old: "fleet/fedscale/sync"},
	}
}
