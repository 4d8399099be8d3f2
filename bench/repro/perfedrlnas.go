package repro

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

const nasPaper = "PerFedRLNAS (AAAI 2024)"

// nasArm is what one method does in the experiment on CIFAR-10.
type nasArm struct {
	Name, Method, Tuner, Claim string
	Sets, Deviates             []string
	Policies, Joins            bool
}

// nasTraining is the training of an arm.
func nasTraining(arm nasArm) *Training {
	t := &Training{
		Key: "perfedrlnas-cifar10-" + arm.Name, Mode: config.ModeTune, Preset: "cifar10-nas", ClientTuner: arm.Tuner, Seeds: 3, Needs: "cifar10", Shrink: shrinkNAS,
		Sets:     append([]string{"client.lr_min=0.01", "eval.every=0"}, arm.Sets...),
		Deviates: slices.Concat(papers().NAS.Deviates, arm.Deviates),
	}
	if arm.Method != "" { // a study of one trial, too, of the only learning rate
		t.Sets = append(t.Sets, "method="+arm.Method, "model=mbv3-cifar-mid", `client_tuner.name=""`, `space."client.lr"={choice=[0.1]}`)
		return t
	}
	if arm.Tuner != "" {
		return t
	}
	t.AsPaper = []string{"client_tuner.options.as_paper=true", "server.holders=true", "server.weighted=false"}
	t.Switches = []string{"as the authors' code, not the paper's text: Adam's beta2 is 0.999, and the supernet moves by " +
		"the clients' mean change, in which one that does not hold a weight has not changed it"}
	return t
}

// shrinkNAS scales the rounds, and the schedule with them.
func shrinkNAS(c *config.Config, scale float64) []string {
	rounds := c.Rounds
	c.Rounds = shrunk(rounds, scale, 1)
	c.Budget = config.Budget{Rounds: c.Rounds, TrialRounds: c.Rounds}
	c.Client.Length = c.Rounds
	return []string{fmt.Sprintf("scaled by %v: %d rounds instead of %d", scale, c.Rounds, rounds)}
}

const (
	nasTable = "perfedrlnas/cifar10"
	nasNew   = "perfedrlnas/new-clients"
	nasWhere = "CIFAR-10, Dirichlet 0.3"
	// notAtHand stands in place of what the paper prints in its tables 1 to 3.
	notAtHand = "not at hand"
)

func nasCells() []Cell {
	var cells []Cell
	for _, arm := range papers().NAS.Arms {
		t := nasTraining(arm)
		name := nasTable + "/" + arm.Name
		cells = append(cells,
			Cell{
				Name: name + "/error", Paper: nasPaper, Where: nasWhere, Unit: "% personalized test error", Instead: notAtHand, Training: t,
				Measure: survivorError(tuners.TargetPersonalized),
			},
			Cell{
				Name: name + "/seconds", Paper: nasPaper, Where: nasWhere, Unit: "simulated seconds a round", Instead: notAtHand, Training: t,
				Measure: simulatedSeconds,
			})
		if arm.Policies {
			cells = append(cells, Cell{
				Name: name + "/theorem1", Paper: nasPaper, Where: "Theorem 1", Unit: "rank correlation of policies with class mixes", Instead: "positive", Training: t,
				Measure: likeness,
			})
		}
	}
	for _, arm := range papers().NAS.Arms {
		if !arm.Joins {
			continue
		}
		t := nasTraining(arm)
		t.Key = "perfedrlnas-new-clients-" + arm.Name
		t.Sets = append(t.Sets, "data.unseen_clients=5")
		t.Deviates = append(t.Deviates, "5 of the 20 clients never take part: each trains for two epochs from the last "+
			"model before it is tested, with the network that the mean of the others' policies finds likeliest")
		cells = append(cells, Cell{
			Name: nasNew + "/" + arm.Name, Paper: nasPaper, Where: "no table", Unit: "% test error of new clients", Instead: "not published", Training: t,
			Measure: func(m *Metrics) (float64, bool) { return m.End.newClients(), true },
		})
	}
	return cells
}

// newClients is the test error, in percent, of clients that never took part; NaN without any.
func (e *End) newClients() float64 {
	if e.Survivor == nil || e.Survivor.NewTest == nil {
		return math.NaN()
	}
	return e.error(*e.Survivor.NewTest)
}

// simulatedSeconds is how long a round lasts on simulated phones, in the mean.
func simulatedSeconds(m *Metrics) (float64, bool) {
	if len(m.Trials) != 1 || len(m.Trials[0].Simulated) == 0 {
		return math.NaN(), true
	}
	sum := 0.0
	for _, s := range m.Trials[0].Simulated {
		if s == nil {
			return math.NaN(), true
		}
		sum += *s
	}
	return sum / float64(len(m.Trials[0].Simulated)), true
}

func nasClaims() []Comparison {
	var claims []Comparison
	than := func(claim, better, worse, what string) {
		claims = append(claims, Comparison{Name: nasTable, Claim: claim, New: nasTable + "/" + better + "/" + what, Old: nasTable + "/" + worse + "/" + what})
	}
	for _, arm := range papers().NAS.Arms {
		if arm.Claim != "" {
			than(arm.Claim, papers().NAS.Arms[0].Name, arm.Name, "error")
		}
	}
	than("rewards beside a client's own past, at a tenth of the rate, beat networks that are drawn at random (ours)", "own", "uniform", "error")
	than("one distribution over 27 networks by FedEx beats networks that are drawn at random (ours)", "fedex", "uniform", "error")
	for _, other := range []string{"uniform", "fedavg"} {
		claims = append(claims, Comparison{Name: nasNew, Claim: "policies serve new clients better than " + other + " (ours)", New: nasNew + "/perfedrlnas", Old: nasNew + "/" + other})
	}
	for _, other := range []string{"fedavg", "uniform"} {
		than("a round is faster than with "+other, papers().NAS.Arms[0].Name, other, "seconds")
	}
	return claims
}
