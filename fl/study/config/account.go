package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
)

// The values of Account.Relation: what neighboring datasets differ by.
const (
	RelationAddRemove = "add_remove"
	RelationReplace   = "replace"
	RelationZeroOut   = "zero_out"
)

// Account is what a run or study with dp.* costs. Its epsilons are upper bounds and hold for
// the weights of the rounds of all trials and, but for public ones, the scores by which a
// study decides, not for losses and other measurements of clients.
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
	// more or less (add_remove), the data of one (replace), or one that sends nothing
	// (zero_out).
	Accountant string `json:"accountant"`
	Relation   string `json:"relation"`
	// Rate is the sampling rate that was accounted for, Rounds the number of rounds.
	Rate   float64 `json:"rate"`
	Rounds int     `json:"rounds"`
	// Mechanism is fl.LocalNoise or fl.TreeNoise, empty for fl.CentralNoise. With them
	// Participations is the number of rounds in which the client takes part that takes part
	// in most, by the cohorts that the seed draws.
	Mechanism      string `json:"mechanism,omitempty"`
	Participations int    `json:"participations,omitempty"`
	// Assumed says that cohorts of a fixed size are accounted for as Poisson sampling.
	Assumed bool `json:"assumed_poisson,omitempty"`
	// Own is the epsilon of the run itself where Epsilon is that of another deployment, by
	// dp.population or dp.noise_cohort; nil where it is the same, or beyond any account.
	Own *float64 `json:"own_epsilon,omitempty"`
	// Deployment is set where Epsilon is that of another deployment.
	Deployment bool `json:"deployment,omitempty"`

	// Tuning is what a study's decisions take of the budget; nil of a run.
	Tuning *TuningAccount `json:"tuning,omitempty"`

	plans, own privacy.Plans // of the rounds, and of the finalists
	taken      []int         // participations by the number of rounds, with a Mechanism
	restart    int           // rounds of a tree
	sums       float64       // noise on the sum of a score
	finals     float64       // noise on the sum of a finalist's, of expected clients
	expected   [2]int        // clients of a round and of a finalist's score
	bound      func() func(rounds int) float64
}

// TuningAccount is what a private study's decisions take of its budget.
type TuningAccount struct {
	// Public says that validation samples are of other people, so that scores are exact and
	// cost nothing. Else scores take Share of the budget.
	Public bool    `json:"public_scores,omitempty"`
	Share  float64 `json:"share,omitempty"`
	// ScoreNoise is the standard deviation of the noise on a round's score, FinalistNoise that
	// on a finalist's, 0 without finalists.
	ScoreNoise    float64 `json:"score_noise,omitempty"`
	FinalistNoise float64 `json:"finalist_noise,omitempty"`
}

// mostRounds bounds the rounds whose cohorts are drawn for an account.
const mostRounds = 1_000_000

// mechanism fills in what the account of a mechanism other than the central one needs: each
// client's releases are Gaussian, without amplification by sampling, and their number is that
// of the rounds in which it takes part.
func (a *Account) mechanism(c *Config, clients int) error {
	m := c.DP.Mechanism
	if c.DP.central() {
		return nil
	}
	if a.Rounds > mostRounds {
		return &key.Error{Key: "rounds", Problem: fmt.Sprintf(" = %d: dp.mechanism = %q accounts for %d at most", a.Rounds, m, mostRounds)}
	}
	draws := &fl.Config{Seed: c.Seed, Cohort: c.Cohort, Poisson: c.Sampling == "poisson", Shuffle: c.Sampling == "shuffle"}
	a.Mechanism, a.Rate, a.taken, a.restart = m, 1, draws.MostTaken(clients, 0, a.Rounds), clients/c.Cohort
	return nil
}

// steps returns how many releases of the Gaussian mechanism a number of rounds are.
func (a *Account) steps(rounds int) int {
	switch a.Mechanism {
	case fl.LocalNoise:
		return a.taken[rounds]
	case fl.TreeNoise:
		return privacy.TreeSteps(rounds, a.restart)
	}
	return rounds
}

// Scores returns the options of a round's scores, and of a finalist's, with the noise that
// the account has for them. A nil Account leaves them as they are.
func (a *Account) Scores(o fl.ScoreOptions) (round, finalist fl.ScoreOptions) {
	if a == nil || a.sums == 0 {
		return o, o
	}
	return fl.ScoreOptions{Noise: a.sums, Expected: a.expected[0]}, fl.ScoreOptions{Noise: a.finals, Expected: a.expected[1]}
}

// GroupNoise returns the noise on the sums of errors that a client tuner sees.
func (a *Account) GroupNoise() float64 { return a.sums }

// account returns the accountant's function.
func (a *Account) account() func(privacy.Plans, float64) float64 {
	if a.Accountant == "rdp" {
		return privacy.ByRDP
	}
	return privacy.Plans.PLD
}

// After returns the account after a number of rounds, with the finalists of a study.
func (a *Account) After(rounds int) *Account {
	spent := *a
	spent.Rounds, spent.Epsilon = rounds, a.account()(a.after(a.plans, rounds), a.Delta)
	if a.taken != nil {
		spent.Participations = a.taken[rounds]
	}
	if a.Deployment && !slices.ContainsFunc(a.own, func(p privacy.Plan) bool { return p.Sigma < privacy.LeastSigma }) {
		own := a.account()(a.after(a.own, rounds), a.Delta)
		spent.Own = &own
	}
	return &spent
}

// after returns plans whose first, that of the rounds, has a number of them.
func (a *Account) after(plans privacy.Plans, rounds int) privacy.Plans {
	plans = slices.Clone(plans)
	plans[0].Steps = a.steps(rounds)
	return plans
}

// Spent returns the epsilon after a number of rounds, without finalists, rounded up by up to
// 0.01.
func (a *Account) Spent(rounds int) float64 {
	plans := a.after(a.plans[:1], rounds)
	if a.Accountant == "rdp" {
		return privacy.ByRDP(plans, a.Delta)
	}
	return plans.Rough(a.Delta)
}

// Bound is like Spent, by Rényi divergences: it takes microseconds and may be larger.
func (a *Account) Bound(rounds int) float64 { return a.bound()(a.steps(rounds)) }

// Cost writes the epsilon.
func (a *Account) Cost() string { return fmt.Sprintf("epsilon %.4g at delta %g", a.Epsilon, a.Delta) }

// Describe writes in a line how the epsilon was accounted for.
func (a *Account) Describe() string {
	neighbors, sampling := "one client more or less", "Poisson sampling"
	switch {
	case a.Mechanism == fl.LocalNoise:
		neighbors, sampling = "the data of one client", fmt.Sprintf("each client adds noise to its own update, and sends at most %d", a.Participations)
	case a.Mechanism == fl.TreeNoise:
		neighbors, sampling = "one client that sends nothing", fmt.Sprintf("noise by trees of %d rounds, in each of which a client sends once", a.restart)
	case a.Relation == RelationReplace:
		neighbors, sampling = "the data of one client", "cohorts of a fixed size"
	case a.Assumed:
		sampling = "cohorts of a fixed size, accounted for as Poisson sampling"
	}
	text := fmt.Sprintf("%s; noise multiplier %.4g, clipping norm %.4g; neighbors differ by %s; %s", strings.ToUpper(a.Accountant), a.Noise, a.Clip, neighbors, sampling)
	switch t := a.Tuning; {
	case t == nil:
	case t.Public:
		text += "; scores are exact and not in the account: validation samples are of other people"
	case t.FinalistNoise > 0:
		text += fmt.Sprintf("; noise of %.2g on each round's score, %.2g on each finalist's", t.ScoreNoise, t.FinalistNoise)
	default:
		text += fmt.Sprintf("; noise of %.2g on each round's score", t.ScoreNoise)
	}
	return text
}
