package config

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
)

// DP holds the keys dp.*: central differential privacy at user level.
type DP struct {
	Epsilon     float64 `toml:"epsilon" in:"[0, 1000]" doc:"epsilon of user-level differential privacy that the whole run may cost: the noise is computed from it; 0: off, unless dp.noise is set"`
	Delta       float64 `toml:"delta" in:"[1e-30, 1)" doc:"delta of differential privacy; choose it well below 1 over the number of clients"`
	Noise       float64 `toml:"noise" in:"[0, 10000]" doc:"noise multiplier, the standard deviation of the noise on the sum over its sensitivity, instead of dp.epsilon, which is then computed" also:"noise_multiplier sigma z"`
	Clip        float64 `toml:"clip" in:"[0, 1e9]" doc:"norm to which each client's change of the weights is clipped; with dp.quantile the first one; default with dp.quantile: 0.1" also:"clip_norm clipping_norm max_grad_norm"`
	Quantile    float64 `toml:"quantile" in:"[0, 1)" doc:"adaptive clipping: the clipping norm follows this quantile of the norms of the clients' changes, such as 0.5; 0: the norm is fixed"`
	Accountant  string  `toml:"accountant" of:"pld rdp" doc:"accountant: pld, the privacy loss distribution, or rdp, Rényi differential privacy; default: pld, but rdp for cohorts of a fixed size"`
	Assume      string  `toml:"assume" of:"poisson" doc:"account for cohorts of a fixed size as if they were drawn by Poisson sampling, as other simulators do; results say so"`
	Population  int     `toml:"population" in:"[0, inf)" doc:"number of clients of the deployment that is simulated, to account for instead of the dataset's; 0: the dataset's"`
	NoiseCohort int     `toml:"noise_cohort" in:"[0, inf)" doc:"cohort of the deployment that is simulated: the noise on the sum is scaled by cohort/noise_cohort, so that the mean has the noise of the deployment's; 0: cohort"`
}

// The values of Account.Relation: what neighboring datasets differ by.
const (
	RelationAddRemove = "add_remove"
	RelationReplace   = "replace"
)

const (
	defaultDelta = 1e-6
	startClip    = 0.1 // of adaptive clipping
	countShare   = 20  // the noise on the count is the cohort over this
)

// Account is what a run with dp.* costs. Its epsilons are upper bounds and hold for the
// weights of the rounds, not for losses and other measurements of clients.
type Account struct {
	// Epsilon is what the rounds cost at Delta.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Noise is the noise multiplier, of the update and with adaptive clipping of the count
	// of clients together.
	Noise float64 `json:"noise"`
	// Clip is the clipping norm, with adaptive clipping the first round's.
	Clip     float64 `json:"clip"`
	Quantile float64 `json:"quantile,omitempty"`
	// Accountant is pld or rdp, Relation what neighboring datasets differ by: one client
	// more or less (add_remove), or the data of one (replace).
	Accountant string `json:"accountant"`
	Relation   string `json:"relation"`
	// Rate is the sampling rate that was accounted for, Rounds the number of rounds.
	Rate   float64 `json:"rate"`
	Rounds int     `json:"rounds"`
	// Assumed says that cohorts of a fixed size are accounted for as Poisson sampling.
	Assumed bool `json:"assumed_poisson,omitempty"`
	// Own is the epsilon of the run itself where Epsilon is that of another deployment, by
	// dp.population or dp.noise_cohort; nil where it is the same, or beyond any account.
	Own *float64 `json:"own_epsilon,omitempty"`
	// Deployment is set where Epsilon is that of another deployment.
	Deployment bool `json:"deployment,omitempty"`

	plan, own privacy.Plan
}

// Private reports whether a run is differentially private.
func (c *Config) Private() bool { return c.DP.Epsilon > 0 || c.DP.Noise > 0 }

// fixedCohorts reports whether cohorts are accounted for as of a fixed size.
func (c *Config) fixedCohorts() bool { return c.Sampling != "poisson" && c.DP.Assume == "" }

// checkDP returns an error for keys dp.* that do not fit together.
func (c *Config) checkDP() error {
	d := &c.DP
	bad := func(name, format string, args ...any) error {
		return &key.Error{Key: "dp." + name, Problem: fmt.Sprintf(format, args...)}
	}
	if !c.Private() {
		if *d != (DP{Delta: d.Delta}) {
			return bad("epsilon", " is not set: other keys of dp need it, or dp.noise; set dp.epsilon, such as 8")
		}
		return nil
	}
	fixed := c.fixedCohorts()
	switch {
	case d.Epsilon > 0 && d.Noise > 0:
		return bad("noise", " = %v: computed from dp.epsilon = %v; leave one of them out", d.Noise, d.Epsilon)
	case d.Noise > 0 && d.Noise < privacy.LeastSigma:
		return bad("noise", " = %v: must be at least %v", d.Noise, privacy.LeastSigma)
	case d.Clip == 0 && d.Quantile == 0:
		return bad("clip", " is not set: set the norm to which clients' changes are clipped, such as 0.5, or dp.quantile")
	case fixed && d.Accountant == "pld":
		return bad("accountant", " = \"pld\": cohorts of a fixed size are accounted for by \"rdp\" only; use sampling = \"poisson\" or dp.assume = \"poisson\"")
	case c.Sampling == "poisson" && d.Assume != "":
		return bad("assume", " = %q: sampling = \"poisson\" needs no assumption; leave it out", d.Assume)
	case c.Sampling == "with":
		return &key.Error{Key: "sampling", Problem: " = \"with\": a client that is drawn twice in a round is not protected by the noise for one; use \"poisson\" or \"without\" with dp"}
	case d.Quantile > 0 && d.NoiseCohort > 0:
		return bad("quantile", ": the clipping norm cannot follow a quantile with the noise of another cohort; leave out dp.noise_cohort")
	case c.Nonfinite == NonfiniteFail:
		return &key.Error{Key: "nonfinite", Problem: " = \"fail\": whether a run fails would reveal a client's data; use \"drop\" with dp"}
	case c.Eval.Goal > 0 || c.Eval.Patience > 0:
		return bad("epsilon", ": runs that stop by their scores reveal more than the account has; leave out eval.goal and eval.patience")
	}
	return nil
}

// checkUntuned returns an error for a study whose trials would be private.
func (c *Config) checkUntuned() error {
	if !c.Private() {
		return nil
	}
	return &key.Error{Key: "dp.epsilon", Problem: ": studies of many trials release scores, which are not accounted for; use fedfast run"}
}

// Privacy returns what makes rounds private, with noise computed from dp.epsilon, and the
// account of a run of c.Rounds rounds; nil without dp.*. clients is their number in the
// federation.
func (c *Config) Privacy(clients int) (*fl.Privacy, *Account, error) {
	if err := c.checkDP(); err != nil || !c.Private() {
		return nil, nil, err
	}
	d := &c.DP
	fixed := c.fixedCohorts()
	noiseCohort, population := cmp.Or(d.NoiseCohort, c.Cohort), cmp.Or(d.Population, clients)
	rate := float64(max(c.Cohort, noiseCohort)) / float64(population)
	if rate > 1 {
		name, value := "dp.population", d.Population
		if d.NoiseCohort > c.Cohort {
			name, value = "dp.noise_cohort", d.NoiseCohort
		}
		return nil, nil, &key.Error{Key: name, Problem: fmt.Sprintf(" = %d: a cohort of %d is larger than the population of %d clients", value, max(c.Cohort, noiseCohort), population)}
	}
	a := &Account{
		Delta: d.Delta, Noise: d.Noise, Clip: d.Clip, Quantile: d.Quantile, Accountant: cmp.Or(d.Accountant, "pld"), Relation: RelationAddRemove,
		Rate: rate, Assumed: d.Assume != "", Deployment: d.Population > 0 || d.NoiseCohort > 0,
		plan: privacy.Plan{Q: rate, Sigma: d.Noise, Steps: c.Rounds, Fixed: fixed},
	}
	if d.Clip == 0 {
		a.Clip = startClip
	}
	sensitivity := 1.0 // over the clipping norm
	if fixed {
		a.Accountant, a.Relation, sensitivity = "rdp", RelationReplace, 2
	}
	if d.Epsilon > 0 {
		var err error
		if a.Noise, err = a.plan.Noise(d.Epsilon, d.Delta, a.account()); err != nil {
			return nil, nil, fmt.Errorf("dp.%w", err)
		}
		a.plan.Sigma = a.Noise
	}
	scale := float64(c.Cohort) / float64(noiseCohort)
	a.own = a.plan
	a.own.Q, a.own.Sigma = float64(c.Cohort)/float64(clients), a.Noise*scale
	p := &fl.Privacy{Clip: a.Clip, Noise: a.Noise * sensitivity * scale}
	if d.Quantile > 0 {
		// A client moves the count of those below the norm by 1/2, or replaced by 1.
		p.Quantile, p.CountNoise = d.Quantile, float64(c.Cohort)/countShare
		count := p.CountNoise / (sensitivity / 2)
		if a.Noise >= count {
			return nil, nil, &key.Error{Key: "dp.quantile", Problem: fmt.Sprintf(" = %v: adaptive clipping with a noise multiplier of %.4g needs a cohort of more than %.0f; raise cohort or leave it out", d.Quantile, a.Noise, a.Noise*countShare*sensitivity/2)}
		}
		p.Noise = sensitivity / math.Sqrt(1/(a.Noise*a.Noise)-1/(count*count))
	}
	return p, a, nil
}

// account returns the accountant's function.
func (a *Account) account() func(privacy.Plan, float64) float64 {
	if a.Accountant == "rdp" {
		return privacy.ByRDP
	}
	return privacy.Plan.PLD
}

// After returns the account after a number of rounds.
func (a *Account) After(rounds int) *Account {
	spent := *a
	spent.Rounds, spent.plan.Steps, spent.own.Steps = rounds, rounds, rounds
	spent.Epsilon = a.Spent(rounds)
	if a.Deployment && spent.own.Sigma >= privacy.LeastSigma {
		own := a.account()(spent.own, a.Delta)
		spent.Own = &own
	}
	return &spent
}

// Spent returns the epsilon after a number of rounds.
func (a *Account) Spent(rounds int) float64 {
	plan := a.plan
	plan.Steps = rounds
	return a.account()(plan, a.Delta)
}

// Cost writes the epsilon.
func (a *Account) Cost() string { return fmt.Sprintf("epsilon %.4g at delta %g", a.Epsilon, a.Delta) }

// Describe writes in a line how the epsilon was accounted for.
func (a *Account) Describe() string {
	neighbors, sampling := "one client more or less", "Poisson sampling"
	switch {
	case a.Relation == RelationReplace:
		neighbors, sampling = "the data of one client", "cohorts of a fixed size"
	case a.Assumed:
		sampling = "cohorts of a fixed size, accounted for as Poisson sampling"
	}
	return fmt.Sprintf("%s; noise multiplier %.4g, clipping norm %.4g; neighbors differ by %s; %s", strings.ToUpper(a.Accountant), a.Noise, a.Clip, neighbors, sampling)
}
