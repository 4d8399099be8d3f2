package repro

import (
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

const nasPaper = "PerFedRLNAS (AAAI 2024)"

// nasArm is what one method does in the experiment on CIFAR-10.
type nasArm struct {
	name string
	// method trains the network in the middle of the supernet; empty is a search in it.
	method   string
	sets     []string
	deviates []string // in words, besides what all arms have
	tuner    string   // of clients, in place of perfedrlnas
	policies bool     // clients have policies of their own
	joins    bool     // new clients are measured with it, too
	claim    string   // that perfedrlnas does better, in words; empty for none
}

var nasArms = []nasArm{
	{name: "perfedrlnas", policies: true, joins: true},
	{name: "uniform", joins: true, sets: []string{"client_tuner.options.uniform=true"}, claim: "policies that learn beat networks that are drawn at random (search)"},
	{name: "shared", sets: []string{"client_tuner.options.shared=true"}, claim: "a policy for each client beats one for all (personalization)"},
	{name: "fedavg", method: "fedavg", joins: true, claim: "networks of the clients' own beat FedAvg on a fixed one"},
	{name: "own", sets: []string{"client_tuner.options.baseline=own", "client_tuner.options.lr=0.05"}, policies: true},
	{
		name: "fedrlnas", sets: []string{"client_tuner.options.shared=true", "client_tuner.options.lr=0.003"}, claim: "networks of the clients' own beat FedRLNAS",
		deviates: []string{"FedRLNAS searches and trains in the same rounds, where it has 800 to warm up, 400 to search and others to train what it found"},
	},
	{
		name: "fedex", tuner: "fedex", sets: []string{"client_tuner.options.independent=true", `tuner.allow=["client_key","examples_val"]`},
		deviates: []string{"FedEx in place of PerFedRLNAS (ours): one distribution over 27 networks, the same for all clients"},
	},
	{name: "fedrep", method: "fedrep", sets: []string{"client.head_epochs=2"}, deviates: nasHead, claim: "networks of the clients' own beat FedRep on a fixed one"},
	{name: "fedbabu", method: "fedbabu", sets: []string{"client.head_epochs=2"}, deviates: nasHead, claim: "networks of the clients' own beat FedBABU on a fixed one"},
	{
		name: "heterofl", method: "heterofl", // no opponent: see its deviations
		deviates: []string{"HeteroFL's clients have the widths 1, 1/2, 1/4, 1/8 and 1/16 in turn, each as often as " +
			"another, and are tested with the sub-networks that they are sent, which they do not train further"},
	},
}

var nasHead = []string{"a client's own head is the last layer, which trains for 2 epochs; in the paper it is the last two"}

// nasTraining is the training of an arm.
func nasTraining(arm nasArm) *Training {
	t := &Training{
		Key: "perfedrlnas-cifar10-" + arm.name, Mode: config.ModeTune, Preset: "cifar10-nas", ClientTuner: arm.tuner, Seeds: 3, Needs: "cifar10", Shrink: shrinkNAS,
		Sets: append([]string{"client.lr_min=0.01", "eval.every=0"}, arm.sets...),
		Deviates: append([]string{
			"networks for 32 x 32 pixels of 4 to 47 MFLOP, with group normalisation, where the paper's have 224 x 224 pixels and 59 to 540 MFLOP: ours",
			"20 clients of 595 training, 201 validation and 164 test images and 2 local epochs, where the paper has 100 " +
				"clients of 600 and 600 and 5 epochs; each trains in 75 of 300 rounds, as in 75 of 1,500",
			"policies learn from validation errors and reports are of test images, where the authors' code has the test " +
				"images for both; the reported error is that after the last round, not a mean of the clients' best ones",
			"a learning rate that falls from 0.1 to 0.01 along half a cosine: ours; at 0.01 each client trains what it is " +
				"left with for 2 epochs more before it is tested (FedAvg after 60 rounds: 19 % validation error, at 0.03 21 %, " +
				"at 0.1 32 %)",
		}, arm.deviates...),
	}
	if arm.method != "" { // a study of one trial, too, of the only learning rate
		t.Sets = append(t.Sets, "method="+arm.method, "model=mbv3-cifar-mid", `client_tuner.name=""`, `space."client.lr"={choice=[0.1]}`)
		return t
	}
	if arm.tuner != "" {
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
	for _, arm := range nasArms {
		t := nasTraining(arm)
		name := nasTable + "/" + arm.name
		cells = append(cells,
			Cell{
				Name: name + "/error", Paper: nasPaper, Where: nasWhere, Unit: "% personalized test error", Instead: notAtHand, Training: t,
				Measure: survivorError(tuners.TargetPersonalized),
			},
			Cell{
				Name: name + "/seconds", Paper: nasPaper, Where: nasWhere, Unit: "simulated seconds a round", Instead: notAtHand, Training: t,
				Measure: simulatedSeconds,
			})
		if arm.policies {
			cells = append(cells, Cell{
				Name: name + "/theorem1", Paper: nasPaper, Where: "Theorem 1", Unit: "rank correlation of policies with class mixes", Instead: "positive", Training: t,
				Measure: likeness,
			})
		}
	}
	for _, arm := range nasArms {
		if !arm.joins {
			continue
		}
		t := nasTraining(arm)
		t.Key = "perfedrlnas-new-clients-" + arm.name
		t.Sets = append(t.Sets, "data.unseen_clients=5")
		t.Deviates = append(t.Deviates, "5 of the 20 clients never take part: each trains for two epochs from the last "+
			"model before it is tested, with the network that the mean of the others' policies finds likeliest")
		cells = append(cells, Cell{
			Name: nasNew + "/" + arm.name, Paper: nasPaper, Where: "no table", Unit: "% test error of new clients", Instead: "not published", Training: t,
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
	for _, arm := range nasArms {
		if arm.claim != "" {
			than(arm.claim, nasArms[0].name, arm.name, "error")
		}
	}
	than("rewards beside a client's own past, at a tenth of the rate, beat networks that are drawn at random (ours)", "own", "uniform", "error")
	than("one distribution over 27 networks by FedEx beats networks that are drawn at random (ours)", "fedex", "uniform", "error")
	for _, other := range []string{"uniform", "fedavg"} {
		claims = append(claims, Comparison{Name: nasNew, Claim: "policies serve new clients better than " + other + " (ours)", New: nasNew + "/perfedrlnas", Old: nasNew + "/" + other})
	}
	for _, other := range []string{"fedavg", "uniform"} {
		than("a round is faster than with "+other, nasArms[0].name, other, "seconds")
	}
	return claims
}
