package repro

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
)

const pfllibPaper = "PFLlib (JMLR 2025)"

// pfllibSetting is one way in which the leaderboard deals Fashion-MNIST.
type pfllibSetting struct {
	name, where string
	sets        []string
}

var pfllibSettings = []pfllibSetting{
	{"fmnist-dir01", "leaderboard, practical label skew", nil},
	{"fmnist-pat2", "leaderboard, pathological label skew", []string{"data.partition=classes-blocked", "data.alpha=0", "data.client_classes=2", "data.min_samples=10"}},
}

// pfllibArm is a method with the settings that it has beside the preset's.
type pfllibArm struct {
	method string
	sets   []string
	// published are the leaderboard's numbers in the order of pfllibSettings; without
	// them they are not at hand.
	published []Published
	// own says that the leaderboard measures models of the clients' own, adapt that they
	// train before they are measured here.
	own, adapt bool
	deviates   []string
	why        string // it cannot be run, empty where it can
}

var pfllibArms = []pfllibArm{
	{method: "fedavg", published: []Published{{Mean: 85.85, SD: 0.19}, {Mean: 80.41, SD: 0.08}}},
	{
		method: "fedprox", published: []Published{{Mean: 85.63, SD: 0.57}, {Mean: 78.08, SD: 0.15}},
		sets: []string{"client.mu=0.001"}, deviates: []string{"client.mu is 0.001: ours; the default of PFLlib's code is 0, which is FedAvg"},
	},
	{method: "fedgen", published: []Published{{Mean: 84.90, SD: 0.31}, {Mean: 79.76, SD: 0.60}}, why: noSuchMethod},
	{
		method: "perfedavg", published: []Published{{Mean: 95.10, SD: 0.10}, {Mean: 99.18, SD: 0.08}}, own: true, adapt: true,
		sets: []string{"client.inner_lr=0.005", "client.inner_steps=1", "client.first_order=true"},
		deviates: []string{
			"Per-FedAvg draws two batches of 10 for each local step, where PFLlib's code halves one of 20 and trains twice a round, which are as many steps",
			"Per-FedAvg's server takes the plain mean of the clients' models, as in its paper, where PFLlib weighs them by samples",
		},
	},
	{
		method: "pfedme", published: []Published{{Mean: 97.25, SD: 0.17}, {Mean: 99.35, SD: 0.14}}, own: true, adapt: true,
		sets: []string{"client.lambda=15", "client.inner_lr=0.01", "client.inner_steps=5", "server.weighted=true"},
		deviates: []string{"pFedMe has its paper's lambda of 15 and a server rate of 1, where the defaults of PFLlib's " +
			"code are 1 and 0; its models are measured after training from the broadcast one, not as the last round left them"},
	},
	{
		method: "ditto", published: []Published{{Mean: 97.47, SD: 0.04}, {Mean: 99.44, SD: 0.06}}, own: true,
		sets: []string{"client.lambda=0.1", "client.personal_epochs=1"}, deviates: []string{"Ditto's lambda is 0.1: ours; the default of PFLlib's code is 0, which are local models"},
	},
	{
		method: "apfl", published: []Published{{Mean: 97.25, SD: 0.08}, {Mean: 99.41, SD: 0.02}}, own: true,
		sets: []string{"client.alpha=0.5", "server.weighted=true"}, deviates: []string{"APFL's alpha starts at 0.5, and its steps are the paper's, where PFLlib's code starts at 1 and mixes otherwise"},
	},
	{
		method: "fedfomo", published: []Published{{Mean: 97.21, SD: 0.02}, {Mean: 99.46, SD: 0.01}},
		why: "it weighs models on validation samples, of which the leaderboard's 75/25 split has none",
	},
	{
		method: "fedamp", published: []Published{{Mean: 97.20, SD: 0.06}, {Mean: 99.42, SD: 0.03}}, own: true,
		deviates: []string{"FedAMP's alpha and sigma are ours, its clients begin at the mixture and its penalty is the " +
			"paper's, where those of PFLlib's code begin at their own models, with 1 and 1 and a norm that is not squared: " +
			"local training"},
	},
	{method: "apple", published: []Published{{Mean: 97.06, SD: 0.07}, {Mean: 99.30, SD: 0.01}}, why: noSuchMethod},
	{method: "fedala", published: []Published{{Mean: 97.66, SD: 0.02}, {Mean: 99.57, SD: 0.01}}, own: true},
	{method: "fedrep", published: []Published{{Mean: 97.56, SD: 0.04}, {Mean: 99.56, SD: 0.03}}, own: true, sets: []string{"client.head_epochs=1"}},
	{method: "fedper", published: []Published{{Mean: 97.44, SD: 0.06}, {Mean: 99.47, SD: 0.03}}, own: true},
	{
		method: "fedrod", published: []Published{{Mean: 97.52, SD: 0.04}, {Mean: 99.52, SD: 0.05}}, own: true,
		deviates: []string{"FedRoD's personal heads start at 0, where PFLlib's code starts them as copies of the first head"},
	},
	{method: "lgfedavg", own: true},
	{
		method: "fedbabu", published: []Published{{Mean: 97.46, SD: 0.07}, {Mean: 99.41, SD: 0.05}}, own: true, adapt: true, sets: []string{"client.head_epochs=1"},
		deviates: []string{"FedBABU tunes the head for one epoch before each measurement, where PFLlib tunes the whole network for 10 after the last round"},
	},
	{method: "scaffold"},
	{method: "moon", deviates: []string{"MOON has a mu of 1, where the default of PFLlib's code is 0, which is FedAvg"}},
	{method: "fedntd", deviates: []string{"FedNTD has its paper's beta of 1, where the default of PFLlib's code is 0, which is FedAvg"}},
	{method: "fedlc", deviates: []string{"FedLC calibrates by a client's own classes, where PFLlib's code counts those of all clients"}},
}

// noSuchMethod says why an arm of the leaderboard cannot be run.
const noSuchMethod = "the method is not built in"

// pfllibTraining is the training of an arm.
func pfllibTraining(s pfllibSetting, arm pfllibArm) *Training {
	t := &Training{
		Key: "pfllib-" + s.name + "-" + arm.method, Mode: config.ModeRun, Preset: "fmnist-pfllib", Tuner: "random", Seeds: 5, Needs: "fashion-mnist", Shrink: shrinkPFLlib,
		Sets: slices.Concat([]string{"method=" + arm.method, "eval.every=1", "eval.personalized=false", "budget.rounds=2000", "budget.trial_rounds=2000", "tuner.options.trials=1"}, s.sets, arm.sets),
		Deviates: append([]string{
			"each seed has a partition of its own, where PFLlib deals once for all repeats; the number of its repeats is not printed",
			"the leaderboard does not print the methods' own hyperparameters",
		}, arm.deviates...),
	}
	if arm.own {
		t.Sets = append(t.Sets, "eval.every_target=personalized", fmt.Sprintf("eval.adapt=%v", arm.adapt))
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
	for i, s := range pfllibSettings {
		for _, arm := range pfllibArms {
			t, name := pfllibTraining(s, arm), "pfllib/"+s.name+"/"+arm.method
			best := Cell{Name: name + "/best", Paper: pfllibPaper, Where: s.where, Unit: "% test accuracy, the best of all rounds", Instead: notAtHand, Why: arm.why}
			if arm.published != nil {
				best.Published = &arm.published[i]
			}
			if arm.why != "" {
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
	for _, s := range pfllibSettings {
		for _, arm := range pfllibArms {
			if arm.own && arm.published != nil && arm.why == "" {
				claims = append(claims, Comparison{
					Name: "pfllib/" + s.name, Claim: "the clients' own models of " + arm.method + " beat FedAvg's", Higher: true,
					New: "pfllib/" + s.name + "/" + arm.method + "/best", Old: "pfllib/" + s.name + "/fedavg/best",
				})
			}
		}
	}
	return claims
}
