// Package perfedrlnas is the built-in tuner `perfedrlnas`: PerFedRLNAS (Yao and Li,
// AAAI 2024), which searches a network for every client while all of them train one
// supernet. The tuner keeps a policy for each client: for each choice of the supernet a
// distribution over its options. A client of a round trains the sub-network that is
// drawn from its policy, and the policy moves by REINFORCE on how well that did.
//
// It is a client tuner for the method `supernet` and needs client_key, by which it
// knows clients again. Alone it runs one trial of budget.trial_rounds rounds.
package perfedrlnas

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// picks are the dimensions that the tuner controls.
const picks = tuners.ArchPrefix + "*"

// The probes that rewards are made of.
const (
	errorProbe   = "val_error_after"
	secondsProbe = "seconds_simulated"
)

// What a client's accuracy is compared with: the options of baseline.
const (
	OfClients = "clients" // the mean, over the clients seen so far, of their best accuracy: the paper's
	OfOwn     = "own"     // a moving mean of the client's own accuracy
	OfCohort  = "cohort"  // the mean accuracy of the round's clients
)

// Tuner is PerFedRLNAS.
var Tuner = options.Tuner[settings]{About: options.About("perfedrlnas"), Plan: readSettings, Trial: newSession}

// settings are the checked options.
type settings struct {
	lr, beta1, beta2, own, latency float64
	baseline                       string
	shared, uniform                bool
}

func readSettings(r *options.Reader, req tuners.ValidateRequest) settings {
	decay := func(name string) float64 {
		return r.Real(name, "from 0 to 1, 1 excluded", func(x float64) bool { return x >= 0 && x < 1 })
	}
	s := settings{
		lr:    r.Real("lr", "greater than 0", func(x float64) bool { return x > 0 }),
		beta1: decay("beta1"), beta2: decay("beta2"),
		own:      r.Real("own_weight", "greater than 0 and at most 1", func(x float64) bool { return x > 0 && x <= 1 }),
		latency:  r.Real("latency", "non-negative", func(x float64) bool { return x >= 0 }),
		baseline: r.OneOf("baseline", OfClients, OfOwn, OfCohort),
		shared:   r.Truth("shared"), uniform: r.Truth("uniform"),
	}
	if r.Truth("as_paper") {
		s.beta2 = 0.99
	}
	r.Choices(req.Space.Matching(picks), `perfedrlnas needs choices: use method "supernet" and a model with choices, such as mbv3-cifar`)
	return s
}
