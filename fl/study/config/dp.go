package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
	"github.com/fedfast/fedfast/tuners"
)

// DP holds the keys dp.*: differential privacy at user level.
type DP struct {
	// epsilon of user-level differential privacy that the whole run may cost, from which the noise is
	// computed; 0: off, unless dp.noise is set
	Epsilon float64 `toml:"epsilon" in:"[0, 1000]"`
	// delta of differential privacy; choose it well below 1 over the number of clients
	Delta float64 `toml:"delta" in:"[1e-30, 1)"`
	// noise multiplier, the standard deviation of the noise over the sensitivity of the sum, instead of
	// dp.epsilon
	Noise float64 `toml:"noise" in:"[0, 10000]" also:"noise_multiplier sigma z"`
	// who adds the noise: central, the server to the sum of each round; local, each client to its own
	// update; tree (DP-FTRL), the server to the sums of all rounds so far; banded (DP-MF), the server by a
	// banded matrix; sample (DP-SGD), each client to its clipped gradients, which protects samples instead
	// of clients; default: central
	Mechanism string `toml:"mechanism" of:"central local tree banded sample" also:"ftrl ldp sgd"`
	// bands of the matrix of dp.mechanism = "banded", at most clients/cohort, of which each takes the
	// memory of a model; default: that, at most 16
	Bands int `toml:"bands" by:"run" in:"[0, inf)" also:"min_separation"`
	// norm to which each client's change of the weights is clipped, or with dp.mechanism = "sample" each
	// sample's gradient; with dp.quantile the first one; default with dp.quantile: 0.1
	Clip float64 `toml:"clip" in:"[0, 1e9]" also:"clip_norm clipping_norm max_grad_norm"`
	// adaptive clipping: the clipping norm follows this quantile of the clients' norms, such as 0.5; 0: it
	// is fixed
	Quantile float64 `toml:"quantile" in:"[0, 1)"`
	// pld, the privacy loss distribution, or rdp, Rényi differential privacy; default: pld, for cohorts of
	// a fixed size rdp
	Accountant string `toml:"accountant" of:"pld rdp"`
	// account for cohorts of a fixed size as if they were drawn by Poisson sampling; results say so
	Assume string `toml:"assume" of:"poisson"`
	// number of clients of the deployment that is simulated, to account for; 0: the dataset's
	Population int `toml:"population" in:"[0, inf)"`
	// cohort of the deployment that is simulated: the noise on the sum is scaled by cohort/noise_cohort;
	// 0: cohort
	NoiseCohort int `toml:"noise_cohort" in:"[0, inf)"`
	// scores of rounds and finalists, and the errors that a client tuner sees: noisy and in the account,
	// or public: exact, of validation samples of other people; default: noisy
	Scores string `toml:"scores" by:"tune" of:"noisy public"`
	// share of the privacy budget that noisy scores take, in units of 1/noise^2; default: 0.1
	TuningShare float64 `toml:"tuning_share" by:"tune" in:"[0, 1)"`
	// share of the privacy budget, in units of 1/noise^2, for votes of dphype and errors of flora; 0: none
	SearchShare float64 `toml:"search_share" by:"tune" in:"[0, 1)"`
}

const (
	defaultDelta = 1e-6
	startClip    = 0.1 // of adaptive clipping
	countShare   = 20  // the noise on the count is the cohort over this
	tuningShare  = 0.1
	scoresPublic = "public"
)

// Private reports whether a run is differentially private.
func (c *Config) Private() bool { return c.DP.Epsilon > 0 || c.DP.Noise > 0 }

// NoisyScores reports whether the account covers the scores of trials, which noise hides.
func (c *Config) NoisyScores() bool { return c.Private() && c.DP.Scores != scoresPublic }

// fixedCohorts reports whether cohorts are accounted for as of a fixed size.
func (c *Config) fixedCohorts() bool {
	return c.Sampling != fl.SamplingPoisson && c.DP.Assume == "" && c.DP.central()
}

// central reports whether the server adds noise to the sum of each round.
func (d *DP) central() bool { return d.Mechanism == "" || d.Mechanism == fl.CentralNoise }

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
	if err := d.checkMechanism(c.Sampling); err != nil {
		return err
	}
	switch {
	case d.Epsilon > 0 && d.Noise > 0:
		return bad("noise", " = %v: computed from dp.epsilon = %v; leave one of them out", d.Noise, d.Epsilon)
	case d.Noise > 0 && d.Noise < privacy.LeastSigma:
		return bad("noise", " = %v: must be at least %v", d.Noise, privacy.LeastSigma)
	case d.Clip == 0 && d.Quantile == 0:
		return bad("clip", " is not set: set the norm to which clients' changes are clipped, such as 0.5, or dp.quantile")
	case fixed && d.Accountant == "pld":
		return bad("accountant", " = \"pld\": cohorts of a fixed size are accounted for by \"rdp\" only; use sampling = \"poisson\" or dp.assume = \"poisson\"")
	case c.Sampling == fl.SamplingPoisson && d.Assume != "":
		return bad("assume", " = %q: sampling = \"poisson\" needs no assumption; leave it out", d.Assume)
	case c.Sampling == "with" || c.Sampling == fl.SamplingSize:
		return &key.Error{Key: "sampling", Problem: ": with replacement a client that is drawn twice in a round is not protected by the noise for one; use \"poisson\" or \"without\" with dp"}
	case c.Sampling == "shuffle" && d.central():
		return &key.Error{Key: "sampling", Problem: " = \"shuffle\": a round's cohort is not drawn independently of the " +
			"others, as the account of dp.mechanism = \"central\" needs; use \"poisson\" or \"without\", or dp.mechanism = " +
			"\"tree\""}
	case d.Quantile > 0 && d.NoiseCohort > 0:
		return bad("quantile", ": the clipping norm cannot follow a quantile with the noise of another cohort; leave out dp.noise_cohort")
	case c.Nonfinite == NonfiniteFail:
		return &key.Error{Key: "nonfinite", Problem: " = \"fail\": whether a run fails would reveal a client's data; use \"drop\" with dp"}
	case c.Eval.Goal > 0 || c.Eval.Patience > 0:
		return bad("epsilon", ": runs that stop by their scores reveal more than the account has; leave out eval.goal and eval.patience")
	}
	return nil
}

// checkMechanism returns an error for keys that a mechanism cannot be used with.
func (d *DP) checkMechanism(sampling string) error {
	if d.central() {
		return nil
	}
	given := ""
	switch {
	case d.Quantile > 0:
		given = fmt.Sprintf("dp.quantile = %v", d.Quantile)
	case d.Population > 0:
		given = fmt.Sprintf("dp.population = %d", d.Population)
	case d.NoiseCohort > 0:
		given = fmt.Sprintf("dp.noise_cohort = %d", d.NoiseCohort)
	case d.Assume != "":
		given = fmt.Sprintf("dp.assume = %q", d.Assume)
	case d.Mechanism == fl.SampleNoise && d.Accountant == "pld":
		return &key.Error{Key: "dp.accountant", Problem: fmt.Sprintf(" = \"pld\": clients with unequal numbers of samples "+
			"are accounted for by \"rdp\" only with dp.mechanism = %q; leave it out", d.Mechanism)}
	case d.Mechanism == fl.BandedNoise && sampling != "shuffle":
		return &key.Error{Key: "dp.mechanism", Problem: fmt.Sprintf(" = %q: a client must not take part twice within the "+
			"bands, as it may with sampling = %q; use sampling = \"shuffle\"", d.Mechanism, sampling)}
	case d.Mechanism == fl.TreeNoise && sampling != "shuffle":
		return &key.Error{Key: "dp.mechanism", Problem: fmt.Sprintf(" = %q: a client must not take part twice in a tree, "+
			"as it may with sampling = %q; use sampling = \"shuffle\"", d.Mechanism, sampling)}
	default:
		return nil
	}
	return &key.Error{Key: "dp.mechanism", Problem: fmt.Sprintf(" = %q: cannot be used with %s; leave one of them out", d.Mechanism, given)}
}

// checkPrivateTuning returns an error for a private study that would reveal more than its
// account has.
func (c *Config) checkPrivateTuning() error {
	bad := func(name, format string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(format, args...)}
	}
	switch score := c.Score; {
	case c.Private() && c.DP.Mechanism == fl.BandedNoise:
		return bad("dp.mechanism", " = %q: a study is not accounted for with it; use \"tree\", or fedfast run", c.DP.Mechanism)
	case c.Private() && !c.DP.central():
		return c.checkMechanismTuning()
	case !c.NoisyScores():
		return nil
	case score.Epsilon > 0:
		return bad("score.epsilon", " = %v: scores have the noise of dp.tuning_share already; leave it out", score.Epsilon)
	case score.Clients > 0:
		return bad("score.clients", " = %d: private scores are of the whole cohort; leave it out", score.Clients)
	case score.Both:
		return bad("score.both", ": the second score is not accounted for; leave it out")
	case c.Objective != tuners.MetricError && c.Objective != tuners.MetricAccuracy && c.Objective != tuners.MetricRecall:
		return bad("objective", " = %q: it has no bound, so noise cannot make it private; "+
			"use \"error\" or \"accuracy\" of classes, or dp.scores = %q", c.Objective, scoresPublic)
	}
	return nil
}

// checkMechanismTuning returns an error for a study whose mechanism has no account of it.
func (c *Config) checkMechanismTuning() error {
	m := c.DP.Mechanism
	bad := func(name, format string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(format, args...)}
	}
	switch {
	case c.DP.Scores != scoresPublic && m != fl.TreeNoise:
		return bad("dp.mechanism", " = %q: noise of the server on scores does not protect what it protects; set dp.scores "+
			"= %q if validation samples are of other people, or use \"central\" or \"tree\"", m, scoresPublic)
	case c.DP.SearchShare > 0:
		return bad("dp.search_share", " = %v: what clients tell that train by themselves is accounted for with dp.mechanism = \"central\" only; leave it out", c.DP.SearchShare)
	case !c.Budget.InRounds():
		return bad(c.Budget.Key(), ": dp.mechanism = %q accounts for trials of a known number of rounds; use budget.rounds and budget.trial_rounds", m)
	case m != fl.SampleNoise:
		return nil
	case c.ClientTuner.Name != "":
		return bad("client_tuner.name", " = %q: dp.mechanism = %q accounts for one batch size and number of local steps; leave it out", c.ClientTuner.Name, m)
	}
	for _, name := range []string{"client.batch", "client.epochs", "client.steps"} {
		if c.Space[name] != nil {
			return bad(SpaceKey(name), ": dp.mechanism = %q accounts for one batch size and number of local steps; leave it out", m)
		}
	}
	return nil
}

// Privacy returns what makes rounds private, with noise computed from dp.epsilon, and the
// account of a run of c.Rounds rounds, or with tune of a study of c.Budget.Rounds rounds;
// nil without dp.*. sizes are the numbers of training samples of the federation's clients.
func (c *Config) Privacy(sizes []int, tune bool) (*fl.Privacy, *Account, error) {
	clients := len(sizes)
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
	}
	rounds := c.Rounds
	if tune {
		rounds = c.Budget.Rounds
		if !d.central() {
			rounds -= rounds % max(1, c.Budget.TrialRounds)
		}
		a.Tuning = &TuningAccount{Public: d.Scores == scoresPublic}
	}
	a.Rounds, a.target, a.shown = rounds, d.Epsilon, &sync.Map{}
	if err := a.mechanism(c, sizes); err != nil {
		return nil, nil, err
	}
	a.plans = privacy.Plans{{Q: a.Rate, Sigma: 1, Steps: a.steps(rounds), Fixed: fixed}}
	finals := 0.0 // the finalists' noise multiplier over that of the rounds
	if tune && !a.Tuning.Public {
		a.Tuning.Share = cmp.Or(d.TuningShare, tuningShare)
		if c.Select == SelectFinalists {
			finals = 1 / (rate * math.Sqrt(a.Tuning.Share*float64(rounds)))
			if a.Mechanism != "" { // which takes nothing from sampling
				finals = 1 / math.Sqrt(a.Tuning.Share*float64(a.steps(rounds)))
			}
			a.plans = append(a.plans, privacy.Plan{Q: 1, Sigma: finals, Steps: 1, Fixed: fixed})
		}
	}
	if d.Clip == 0 {
		a.Clip = startClip
	}
	searches := 0.0 // likewise of what clients tell that train by themselves
	if tune && d.SearchShare > 0 {
		searches = 1 / (rate * math.Sqrt(d.SearchShare*float64(rounds)))
		a.plans = append(a.plans, privacy.Plan{Q: 1, Sigma: searches, Steps: 1, Fixed: fixed})
	}
	sensitivity := 1.0 // over the clipping norm
	switch {
	case a.Mechanism == fl.LocalNoise:
		a.Relation, sensitivity = RelationReplace, 2
	case a.Mechanism == fl.TreeNoise, a.Mechanism == fl.BandedNoise:
		a.Relation = RelationZeroOut
	case a.Mechanism == fl.SampleNoise:
		a.Accountant, a.Relation = "rdp", RelationSample
	case fixed:
		a.Accountant, a.Relation, sensitivity = "rdp", RelationReplace, 2
	}
	var err error
	switch {
	case d.Epsilon == 0:
	case a.kinds != nil:
		a.Noise, err = a.calibrate(d.Epsilon)
	default:
		a.Noise, err = a.plans.Noise(d.Epsilon, d.Delta, a.Accountant == "pld")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("dp.%w", err)
	}
	a.plans = a.plans.Scaled(a.Noise)
	a.bound = sync.OnceValue(func() func(int) float64 { return a.plans[:1].Bound(a.Delta) })
	a.spent = sync.OnceValue(func() []func(int) float64 { return a.byKind(a.Noise) })
	scale := float64(c.Cohort) / float64(noiseCohort)
	a.own = slices.Clone(a.plans)
	a.own[0].Q, a.own[0].Sigma = float64(c.Cohort)/float64(clients), a.Noise*scale
	p := &fl.Privacy{Mechanism: a.Mechanism, Bands: d.Bands, Clip: a.Clip, Noise: a.Noise * sensitivity * scale}
	if searches > 0 {
		a.search, a.moves = a.Noise*searches*float64(clients)/float64(population), sensitivity
		a.Tuning.SearchNoise = a.search
		a.own[len(a.own)-1].Sigma = a.search
	}
	update := 1.0 // share of the update in 1/noise^2
	if t := a.Tuning; t != nil && !t.Public {
		update -= t.Share
		p.Noise /= math.Sqrt(update)
		kinds := 1.0 // of sums that are released: scores, and what a client tuner sees
		if c.ClientTuner.Name != "" {
			kinds = 2
		}
		a.sums = a.Noise * scale * sensitivity / 2 * math.Sqrt(kinds/t.Share)
		if a.Mechanism != "" { // a client is in more nodes than it has scores, or in fewer
			a.sums *= math.Sqrt(float64(a.total) / float64(a.steps(rounds)))
		}
		a.expected[0], t.ScoreNoise = c.Cohort, a.sums/float64(c.Cohort)
		if finals > 0 {
			most := func(n int) int { return min(n, cmp.Or(c.Finalists.Clients, n)) }
			// A client moves the scores of all finalists by half of what it moves one, or all.
			t.FinalistNoise = a.Noise * finals * sensitivity / 2 * math.Sqrt(float64(c.Finalists.Most())) / float64(most(population))
			a.expected[1] = most(clients)
			a.finals = t.FinalistNoise * float64(a.expected[1])
			a.own[1].Sigma *= float64(a.expected[1]) / float64(most(population))
		}
	}
	if d.Quantile > 0 {
		// A client moves the count of those below the norm by 1/2, or replaced by 1.
		p.Quantile, p.CountNoise = d.Quantile, float64(c.Cohort)/countShare
		count := p.CountNoise / (sensitivity / 2)
		if a.Noise >= count {
			return nil, nil, &key.Error{Key: "dp.quantile", Problem: fmt.Sprintf(" = %v: adaptive clipping with a noise "+
				"multiplier of %.4g needs a cohort of more than %.0f; raise cohort or leave it out", d.Quantile, a.Noise,
				a.Noise*countShare*sensitivity/2)}
		}
		left := update/(a.Noise*a.Noise) - 1/(count*count)
		if left <= 0 {
			return nil, nil, &key.Error{Key: "dp.quantile", Problem: fmt.Sprintf(" = %v: dp.tuning_share = %v and the noise "+
				"on the count leave nothing of the budget; raise cohort or lower dp.tuning_share", d.Quantile, a.Tuning.Share)}
		}
		p.Noise = sensitivity / math.Sqrt(left)
	}
	return p, a, nil
}
