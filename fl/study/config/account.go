package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
)

// The values of Account.Relation: what neighboring datasets differ by.
const (
	RelationAddRemove = "add_remove"
	RelationReplace   = "replace"
	RelationZeroOut   = "zero_out"
	RelationSample    = "add_remove_sample"
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
	// more or less (add_remove), the data of one (replace), one that sends nothing
	// (zero_out), or one sample of a client more or less (add_remove_sample).
	Accountant string `json:"accountant"`
	Relation   string `json:"relation"`
	// Rate is the sampling rate that was accounted for, Rounds the number of rounds.
	Rate   float64 `json:"rate"`
	Rounds int     `json:"rounds"`
	// Mechanism is fl.LocalNoise and so on, empty for fl.CentralNoise. With another one
	// Participations is the number of rounds in which the client takes part that takes part
	// in most, by the cohorts that the seed draws.
	Mechanism      string `json:"mechanism,omitempty"`
	Participations int    `json:"participations,omitempty"`
	// Assumed says that cohorts of a fixed size are accounted for as Poisson sampling.
	Assumed bool `json:"assumed_poisson,omitempty"`
	// Own is the epsilon of the run itself where Epsilon belongs to another deployment, by
	// dp.population or dp.noise_cohort; nil where it is the same, or beyond any account.
	Own *float64 `json:"own_epsilon,omitempty"`
	// Deployment is set where Epsilon belongs to another deployment.
	Deployment bool `json:"deployment,omitempty"`

	// Tuning is what a study's decisions take of the budget; nil of a run.
	Tuning *TuningAccount `json:"tuning,omitempty"`

	plans, own privacy.Plans // of the rounds, and of the finalists
	taken      []int         // participations by the number of a trial's rounds, with a Mechanism: of any trial
	total      int           // participations in all trials
	restart    int           // rounds of a tree
	kinds      []kind        // of clients, with fl.SampleNoise
	spent      func() []func(taken int) float64
	sums       float64 // noise on the sum of a score
	search     float64 // noise multiplier of what clients tell that train by themselves
	moves      float64 // sensitivity of a sum over what one client adds at most
	finals     float64 // noise on the sum of a finalist's, of expected clients
	expected   [2]int  // clients of a round and of a finalist's score
	target     float64 // dp.epsilon, which all rounds keep to; 0 where the noise is given
	bound      func() func(rounds int) float64
	shown      *sync.Map // by rounds, see Shown
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
	// SearchNoise is the noise multiplier of what clients tell that train by themselves, 0
	// without dp.search_share.
	SearchNoise float64 `json:"search_noise,omitempty"`
}

// mostRounds bounds the rounds whose cohorts are drawn for an account.
const mostRounds = 1_000_000

// kind is what an account needs of the clients with as many training samples as one another.
type kind struct {
	rate  float64 // with which a local step draws a sample
	steps int     // of a round
}

// mechanism fills in what the account of a mechanism other than the central one needs. Their
// releases are Gaussian, without amplification by sampling of clients, and their number goes
// by the rounds in which the client takes part that takes part in most. sizes are the clients'
// numbers of training samples.
func (a *Account) mechanism(c *Config, sizes []int) error {
	clients := len(sizes)
	m := c.DP.Mechanism
	if c.DP.central() {
		return nil
	}
	if a.Rounds > mostRounds {
		name := "rounds"
		if a.Tuning != nil {
			name = "budget.rounds"
		}
		return &key.Error{Key: name, Problem: fmt.Sprintf(" = %d: dp.mechanism = %q accounts for %d at most", a.Rounds, m, mostRounds)}
	}
	trials, rounds := 1, a.Rounds
	if a.Tuning != nil { // whole trials alone, see Whole
		rounds = max(1, c.Budget.TrialRounds)
		trials = a.Rounds / rounds
	}
	draws := &fl.Config{Privacy: &fl.Privacy{Mechanism: m}, Seed: c.Seed, Cohort: c.Cohort, Poisson: c.Sampling == fl.SamplingPoisson, Shuffle: c.Sampling == "shuffle"}
	a.Mechanism, a.Rate, a.taken, a.restart = m, 1, draws.MostTaken(clients, 0, rounds), clients/c.Cohort
	a.total = draws.MostTakenOf(clients, trials, rounds)
	for trial := 1; trial < trials; trial++ {
		for i, n := range draws.MostTaken(clients, trial, rounds) {
			a.taken[i] = max(a.taken[i], n)
		}
	}
	if m == fl.SampleNoise { // the smallest clients first
		sizes = slices.Compact(slices.Sorted(slices.Values(sizes)))
		for _, n := range sizes {
			a.kinds = append(a.kinds, kind{min(1, float64(c.Client.Batch)/float64(n)), c.Client.LocalSteps(n)})
		}
		a.Rate = a.kinds[0].rate
	}
	return nil
}

// byKind returns the account of the clients of each kind with a noise multiplier, as a function
// of the rounds in which one takes part.
func (a *Account) byKind(noise float64) []func(taken int) float64 {
	var all []func(int) float64
	for _, k := range a.kinds {
		bound := privacy.Plans{{Q: k.rate, Sigma: noise}}.Bound(a.Delta)
		all = append(all, func(taken int) float64 { return bound(k.steps * taken) })
	}
	return all
}

// costliest returns the number of the kind of clients that spends most, and what it does.
func costliest(all []func(taken int) float64, taken int) (worst int, epsilon float64) {
	for i, spent := range all {
		if e := spent(taken); e > epsilon {
			worst, epsilon = i, e
		}
	}
	return worst, epsilon
}

// calibrate returns the least noise multiplier with which no kind of client spends more than
// an epsilon.
func (a *Account) calibrate(epsilon float64) (noise float64, err error) {
	taken := a.takenIn(a.Rounds)
	worst, _ := costliest(a.byKind(1), taken)
	for { // each kind needs more noise than those before
		k := a.kinds[worst]
		if noise, err = (privacy.Plans{{Q: k.rate, Sigma: 1, Steps: k.steps * taken}}).Noise(epsilon, a.Delta, false); err != nil {
			return 0, err
		}
		most := 0.0
		if worst, most = costliest(a.byKind(noise), taken); most <= epsilon {
			return noise, nil
		}
	}
}

// steps returns how many releases of the Gaussian mechanism a number of rounds are.
func (a *Account) steps(rounds int) int {
	switch a.Mechanism {
	case fl.LocalNoise, fl.BandedNoise:
		return a.takenIn(rounds)
	case fl.TreeNoise: // each trial has trees of its own
		whole := len(a.taken) - 1
		return rounds/whole*privacy.TreeSteps(whole, a.restart) + privacy.TreeSteps(rounds%whole, a.restart)
	}
	return rounds
}

// takenIn returns in how many of a number of rounds a client takes part at most, where one
// trial after the other is run.
func (a *Account) takenIn(rounds int) int {
	whole := max(1, len(a.taken)-1)
	if rounds <= whole {
		return a.taken[rounds]
	}
	return min(a.total, rounds/whole*a.taken[whole]+a.taken[rounds%whole])
}

// Whole reports whether the account is for trials that all run budget.trial_rounds rounds, one
// after the other from 0 on: how often a client takes part is then known before.
func (a *Account) Whole() bool { return a != nil && a.Tuning != nil && a.Mechanism != "" }

// Scores returns the options of a round's scores, and of a finalist's, with the noise that
// the account has for them. A nil Account leaves them as they are.
func (a *Account) Scores(o fl.ScoreOptions) (round, finalist fl.ScoreOptions) {
	if a == nil || a.sums == 0 {
		return o, o
	}
	return fl.ScoreOptions{Noise: a.sums, Expected: a.expected[0]}, fl.ScoreOptions{Noise: a.finals, Expected: a.expected[1]}
}

// VoteNoise returns the standard deviation of the noise on the number of votes for each of some
// points, where a client votes for k of them: one client more or less moves the numbers by a
// norm of sqrt(k), other votes of one by sqrt(2k). It is 0 for a nil Account.
func (a *Account) VoteNoise(k int) float64 {
	if a == nil {
		return 0
	}
	return a.search * math.Sqrt(a.moves*float64(k))
}

// MeansNoise returns the standard deviation of the noise on each of n sums over clients, to
// which each adds at most 1/2.
func (a *Account) MeansNoise(n int) float64 { return a.search * a.moves / 2 * math.Sqrt(float64(n)) }

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
	spent.Rounds = rounds
	if spent.Epsilon = a.Bound(rounds); a.kinds == nil {
		spent.Epsilon = a.account()(a.after(a.plans, rounds), a.Delta)
	}
	if a.taken != nil {
		spent.Participations = a.takenIn(rounds)
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
// 0.01, but never above a dp.epsilon for which the noise of more rounds was computed.
func (a *Account) Spent(rounds int) float64 {
	if a.Accountant == "rdp" {
		return a.Bound(rounds)
	}
	spent := a.after(a.plans[:1], rounds).Rough(a.Delta)
	if a.target > 0 && rounds <= a.Rounds {
		spent = min(spent, a.target)
	}
	return spent
}

// shownSteps is how often Shown asks the account in all rounds.
const shownSteps = 16

// Shown is like Spent, for showing progress: it is the value after up to a sixteenth of all
// rounds more, never below and never above what all rounds cost, and mostly takes microseconds.
func (a *Account) Shown(rounds int) float64 {
	step := (a.Rounds + shownSteps - 1) / shownSteps
	if step == 0 {
		return a.Spent(rounds)
	}
	at := min((rounds+step-1)/step*step, a.Rounds)
	spent, ok := a.shown.Load(at)
	if !ok {
		spent = a.Spent(at)
		a.shown.Store(at, spent)
	}
	return min(spent.(float64), a.Bound(rounds))
}

// Bound is like Spent, by Rényi divergences: it takes microseconds and may be larger.
func (a *Account) Bound(rounds int) float64 {
	if a.kinds != nil {
		_, epsilon := costliest(a.spent(), a.takenIn(rounds))
		return epsilon
	}
	return a.bound()(a.steps(rounds))
}

// Cost writes the epsilon.
func (a *Account) Cost() string { return fmt.Sprintf("epsilon %.4g at delta %g", a.Epsilon, a.Delta) }

// OwnCost writes the epsilon of the run itself where Deployment is set.
func (a *Account) OwnCost() string {
	if a.Own == nil {
		return "beyond any account"
	}
	return fmt.Sprintf("epsilon %.4g at delta %g", *a.Own, a.Delta)
}

// Describe writes in a line how the epsilon was accounted for.
func (a *Account) Describe() string {
	neighbors, sampling := "one client more or less", "Poisson sampling"
	switch {
	case a.Mechanism == fl.LocalNoise:
		neighbors, sampling = "the data of one client", fmt.Sprintf(
			"each client adds noise to its own update, and sends at most %d", a.Participations)
	case a.Mechanism == fl.TreeNoise:
		neighbors, sampling = "one client that sends nothing", fmt.Sprintf(
			"noise by trees of %d rounds, in each of which a client sends once", a.restart)
	case a.Mechanism == fl.BandedNoise:
		neighbors, sampling = "one client that sends nothing", fmt.Sprintf(
			"noise by a banded matrix, and a client sends at most %d times, every %d rounds", a.Participations, a.restart)
	case a.Mechanism == fl.SampleNoise:
		neighbors, sampling = "one sample of a client more or less", fmt.Sprintf(
			"noise on each client's gradients, and a client takes part at most %d times", a.Participations)
	case a.Relation == RelationReplace:
		neighbors, sampling = "the data of one client", "cohorts of a fixed size"
	case a.Assumed:
		sampling = "cohorts of a fixed size, accounted for as Poisson sampling"
	}
	text := fmt.Sprintf("%s; noise multiplier %.4g, clipping norm %.4g; neighbors differ by %s; %s",
		strings.ToUpper(a.Accountant), a.Noise, a.Clip, neighbors, sampling)
	switch t := a.Tuning; {
	case t == nil:
	case t.Public:
		text += "; scores are exact and not in the account: validation samples are of other people"
	case t.FinalistNoise > 0:
		text += fmt.Sprintf("; noise of %.2g on each round's score, %.2g on each finalist's", t.ScoreNoise, t.FinalistNoise)
	default:
		text += fmt.Sprintf("; noise of %.2g on each round's score", t.ScoreNoise)
	}
	if t := a.Tuning; t != nil && t.SearchNoise > 0 {
		text += fmt.Sprintf("; noise multiplier %.3g of what clients tell that train by themselves", t.SearchNoise)
	}
	return text
}
