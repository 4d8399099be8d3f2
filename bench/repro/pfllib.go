package repro

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
)

const pfllibPaper = "PFLlib (JMLR 2025)"

// pfllibArm is a method of the leaderboard.
type pfllibArm struct {
	Method, Why    string
	Sets, Deviates []string
	Published      [][2]float64
	Own, Adapt     bool
}

// pfllibTraining is the training of an arm.
func pfllibTraining(s arm, arm pfllibArm) *Training {
	t := &Training{
		Key: "pfllib-" + s.Name + "-" + arm.Method, Mode: config.ModeRun, Preset: "fmnist-pfllib", Tuner: "random", Seeds: 5, Needs: "fashion-mnist", Shrink: shrinkPFLlib,
		Sets: slices.Concat([]string{"method=" + arm.Method, "eval.every=1", "eval.personalized=false", "budget.rounds=2000", "budget.trial_rounds=2000", "tuner.options.trials=1"}, s.Sets, arm.Sets),
		Deviates: append([]string{
			"each seed has a partition of its own, where PFLlib deals once for all repeats; the number of its repeats is not printed",
			"the leaderboard does not print the methods' own hyperparameters",
		}, arm.Deviates...),
	}
	if arm.Own {
		t.Sets = append(t.Sets, "eval.every_target=personalized", fmt.Sprintf("eval.adapt=%v", arm.Adapt))
	}
	return t
}

// pfllibSamples is how many samples a client of the leaderboard has in the mean.
const pfllibSamples = 70_000 / 20

// shrinkPFLlib scales the rounds, and by the square root of the scale the most samples that a
// client has. Learning rates grow by that root, up to tenfold: at PFLlib's own the few steps
// that are left would hardly move a network.
func shrinkPFLlib(c *config.Config, scale float64) []string {
	rounds, lr, root := c.Rounds, c.Client.LR, math.Sqrt(scale)
	c.Rounds = shrunk(rounds, scale, 1)
	c.Budget.Rounds, c.Budget.TrialRounds = c.Rounds, c.Rounds // as a study of one trial has
	c.Data.MaxSamples = shrunk(pfllibSamples, root, c.Data.MinSamples)
	faster := min(10, math.Round(1/root))
	c.Client.LR = float64(lr * faster)
	if c.Client.InnerLR == lr { // Per-FedAvg's
		c.Client.InnerLR = c.Client.LR
	}
	return []string{fmt.Sprintf("scaled by %v: %d rounds instead of %d, at most %d samples a client, training and test, instead of %d in the mean, and a learning rate of %v instead of %v",
		scale, c.Rounds, rounds, c.Data.MaxSamples, pfllibSamples, c.Client.LR, lr)}
}

func pfllibCells() []Cell {
	var cells []Cell
	for i, s := range papers().PFLlib.Settings {
		for _, arm := range papers().PFLlib.Arms {
			t, name := pfllibTraining(s, arm), "pfllib/"+s.Name+"/"+arm.Method
			best := Cell{Name: name + "/best", Paper: pfllibPaper, Where: s.Where, Unit: "% test accuracy, the best of all rounds", Instead: notAtHand, Why: arm.Why}
			if arm.Published != nil {
				best.Published = &Published{Mean: arm.Published[i][0], SD: arm.Published[i][1]}
			}
			if arm.Why != "" {
				cells = append(cells, best)
				continue
			}
			best.Training, best.Measure = t, bestAccuracy
			last := best
			last.Name, last.Unit, last.Published, last.Instead, last.Measure = name+"/last", "% test accuracy after the last round", nil, "not published", lastAccuracy
			cells = append(cells, best, last)
		}
	}
	return cells
}

// lastAccuracy is the test accuracy that was measured last.
func lastAccuracy(m *Metrics) (float64, bool) {
	if n := len(m.End.Curve); n > 0 {
		return m.End.accuracy(m.End.Curve[n-1].TestError), true
	}
	return math.NaN(), true
}

func pfllibClaims() []Comparison {
	var claims []Comparison
	for _, s := range papers().PFLlib.Settings {
		for _, arm := range papers().PFLlib.Arms {
			if arm.Own && arm.Published != nil && arm.Why == "" {
				claims = append(claims, Comparison{
					Name: "pfllib/" + s.Name, Claim: "the clients' own models of " + arm.Method + " beat FedAvg's", Higher: true,
					New: "pfllib/" + s.Name + "/" + arm.Method + "/best", Old: "pfllib/" + s.Name + "/fedavg/best",
				})
			}
		}
	}
	return claims
}
