package config

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/privacy"
)

// TestPrivateStudy adds up what a study releases in a round, in units of 1/noise^2 over the
// sensitivity, which must be what its account has: the update, the count of adaptive
// clipping, the score, and what a client tuner sees; and once the finalists' scores.
func TestPrivateStudy(t *testing.T) {
	t.Parallel()
	for _, sampling := range []string{"poisson", "without"} {
		for _, client := range []string{"", "fedex"} {
			if client == "" && sampling == "without" && testing.Short() {
				continue // seconds
			}
			for _, quantile := range []float64{0, 0.5} {
				c := Default()
				c.Sampling, c.Cohort, c.ClientTuner.Name = sampling, 300, client
				c.Budget = Budget{Rounds: 40, TrialRounds: 10}
				c.DP = DP{Noise: 1.5, Delta: 1e-5, Clip: 0.5, Quantile: quantile, TuningShare: 0.2, Accountant: "rdp"}
				const clients = 3000
				p, a, err := c.Privacy(make([]int, clients), true)
				if err != nil {
					t.Fatal(err)
				}
				moves := 1.0 // how far a client moves the sum of the updates, over the clipping norm
				if sampling == "without" {
					moves = 2
				}
				square := func(x float64) float64 { return x * x }
				round, final := a.Scores(c.Score.Options())
				sum := square(moves/p.Noise) + square(moves/2/round.Noise)
				if quantile > 0 {
					sum += square(moves / 2 / p.CountNoise)
				}
				if client != "" {
					sum += square(moves / 2 / a.GroupNoise())
				}
				if z := 1 / math.Sqrt(sum); math.Abs(z/a.Noise-1) > 1e-9 {
					t.Errorf("%s, client tuner %q, quantile %v: the releases of a round have a noise multiplier of %v together, the account has %v", sampling, client, quantile, z, a.Noise)
				}
				most := math.Sqrt(float64(c.Finalists.Most())) // finalists, each moved by one client
				plans := privacy.Plans{
					{Q: 0.1, Sigma: a.Noise, Steps: 40, Fixed: moves == 2},
					{Q: 1, Sigma: final.Noise / (moves / 2 * most), Steps: 1, Fixed: moves == 2},
				}
				if got, want := a.After(40).Epsilon, privacy.ByRDP(plans, 1e-5); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s: the study costs %v, its releases %v", sampling, got, want)
				}
				if final.Expected != c.Finalists.Clients || round.Expected != 300 {
					t.Errorf("scores are over %d clients, those of finalists over %d", round.Expected, final.Expected)
				}
				if a.Bound(20) < a.Spent(20)-1e-9 || a.Spent(20) >= a.Spent(40) || a.Spent(40) >= a.After(40).Epsilon {
					t.Errorf("the rounds cost %v, %v and with finalists %v", a.Spent(20), a.Spent(40), a.After(40).Epsilon)
				}
				c.DP.Scores = "public"
				_, public, err := c.Privacy(make([]int, clients), true)
				if err != nil {
					t.Fatal(err)
				}
				if o, _ := public.Scores(c.Score.Options()); o != c.Score.Options() ||
					public.After(40).Epsilon >= a.After(40).Epsilon {
					t.Errorf("with public scores the study costs no less, and scores have %+v", o)
				}
			}
		}
	}
}

// TestSpentKeepsToEpsilon has no epsilon that is shown on the way exceed dp.epsilon, from which
// the noise was computed, at a sampling rate so small that Rényi divergences alone would say more
// than twice as much.
func TestSpentKeepsToEpsilon(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Sampling, c.Cohort, c.Rounds = "poisson", 20, 300
	c.DP = DP{Epsilon: 2, Delta: 1e-6, Clip: 0.4, NoiseCohort: 1000, Population: 10_000_000}
	_, a, err := c.Privacy(make([]int, 400), false)
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for _, rounds := range []int{1, 150, 299, 300} {
		spent, shown := a.Spent(rounds), a.Shown(rounds)
		if !(spent >= last) || spent > shown || shown > 2 {
			t.Errorf("%d rounds have spent %v, shown as %v, of 2; those before %v", rounds, spent, shown, last)
		}
		last = spent
	}
	if e := a.After(300).Epsilon; last < 1.98 || e > 2 || e < 1.99 || a.Bound(300) < 4 {
		t.Errorf("an epsilon of 2 became %v, shown as %v, and by Rényi divergences %v", e, last, a.Bound(300))
	}
}

// TestMechanisms accounts for local noise by the client that takes part most often, and for
// trees by the nodes that a client is in; both are Gaussian without amplification.
func TestMechanisms(t *testing.T) {
	t.Parallel()
	const clients, delta = 50, 1e-5
	c := Default()
	c.Cohort, c.Rounds, c.Seed = 10, 23, 4
	for _, mechanism := range []string{fl.LocalNoise, fl.TreeNoise} {
		for _, sampling := range []string{"poisson", "without", "shuffle"} {
			c.Sampling, c.DP = sampling, DP{Mechanism: mechanism, Epsilon: 4, Delta: delta, Clip: 0.5}
			p, a, err := c.Privacy(make([]int, clients), false)
			if mechanism == fl.TreeNoise && sampling != "shuffle" {
				if err == nil || !strings.Contains(err.Error(), `use sampling = "shuffle"`) {
					t.Errorf("trees with sampling %q give %v", sampling, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			draws := fl.Config{Seed: 4, Cohort: 10, Poisson: sampling == "poisson", Shuffle: sampling == "shuffle"}
			taken := draws.MostTaken(clients, 0, c.Rounds)
			moves := 2.0 // how far a client moves what it sends, over the clipping norm
			steps := func(rounds int) int { return taken[rounds] }
			if mechanism == fl.TreeNoise { // of 5 rounds, whose root covers 4
				moves = 1
				steps = func(rounds int) int { return rounds/5*3 + []int{0, 1, 2, 2, 3}[rounds%5] }
			}
			for _, rounds := range []int{0, 1, 7, 23} {
				want := privacy.Plan{Q: 1, Sigma: p.Noise / moves, Steps: steps(rounds)}.PLD(delta)
				spent := a.After(rounds)
				if spent.Participations != taken[rounds] || math.Abs(spent.Epsilon-want) > 1e-9 ||
					math.Abs(a.Spent(rounds)-want) > 1e-9 || a.Bound(rounds) < want || a.Shown(rounds) < want-1e-9 ||
					a.Shown(rounds) > a.Shown(c.Rounds) {
					t.Errorf("%s, %s: %d rounds cost %v, %v and at most %v with %d participations, want %v with %d", mechanism,
						sampling, rounds, spent.Epsilon, a.Spent(rounds), a.Bound(rounds), spent.Participations, want, taken[rounds])
				}
			}
			if e := a.After(c.Rounds).Epsilon; e > 4 || e < 3.999 {
				t.Errorf("%s: an epsilon of 4 became %v", mechanism, e)
			}
		}
	}
	for want, change := range map[string]func(c *Config){
		`dp.mechanism = "local": cannot be used with dp.quantile = 0.5`: func(c *Config) { c.DP.Quantile = 0.5 },
		`cannot be used with dp.population = 9`:                         func(c *Config) { c.DP.Population = 9 },
		`cannot be used with dp.noise_cohort = 9`:                       func(c *Config) { c.DP.NoiseCohort = 9 },
		`cannot be used with dp.assume = "poisson"`:                     func(c *Config) { c.DP.Assume = "poisson" },
		`sampling = "shuffle": a round's cohort is not`:                 func(c *Config) { c.DP.Mechanism = "" },
		`rounds = 10000000: dp.mechanism = "local" accounts for 1`:      func(c *Config) { c.Rounds = 10_000_000 },
	} {
		c.Sampling, c.Rounds, c.DP = "shuffle", 23, DP{Mechanism: fl.LocalNoise, Epsilon: 4, Delta: delta, Clip: 0.5}
		change(&c)
		if _, _, err := c.Privacy(make([]int, clients), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestSampleAccount has the client that spends most decide, by its samples, local steps and
// participations.
func TestSampleAccount(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Cohort, c.Rounds, c.Sampling, c.Client.Batch, c.Client.Epochs = 2, 9, "shuffle", 10, 2
	sizes := []int{7, 35, 35, 48, 200, 90}
	for _, steps := range []int{0, 40} {
		c.Client.Steps, c.DP = steps, DP{Mechanism: fl.SampleNoise, Epsilon: 3, Delta: 1e-5, Clip: 1}
		p, a, err := c.Privacy(sizes, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, taken := range []int{0, 2, 3} {
			want := 0.0
			for _, n := range sizes {
				plan := privacy.Plan{Q: min(1, 10/float64(n)), Sigma: p.Noise, Steps: taken * c.Client.LocalSteps(n)}
				want = max(want, privacy.ByRDP(privacy.Plans{plan}, 1e-5))
			}
			spent := a.After(3 * taken)
			if math.Abs(spent.Epsilon-want) > 1e-9 || a.Spent(3*taken) != spent.Epsilon || a.Bound(3*taken) != spent.Epsilon ||
				spent.Participations != taken {
				t.Errorf("%d participations cost %v, and %d, want %v", taken, spent.Epsilon, spent.Participations, want)
			}
		}
		if e := a.After(9).Epsilon; e > 3 || e < 2.999 {
			t.Errorf("an epsilon of 3 became %v", e)
		}
	}
}

// TestMechanismsTuned adds up what a study of whole trials releases of one client with the
// mechanisms other than the central one.
func TestMechanismsTuned(t *testing.T) {
	t.Parallel()
	const clients, delta, trials, rounds = 50, 1e-5, 4, 8
	c := Default()
	c.Cohort, c.Seed, c.Sampling = 10, 4, "shuffle"
	c.Budget = Budget{Rounds: trials*rounds + 3, TrialRounds: rounds} // the rest is of no trial
	draws := fl.Config{Seed: 4, Cohort: 10, Shuffle: true}
	taken := draws.MostTakenOf(clients, trials, rounds)
	if one := draws.MostTaken(clients, 0, rounds)[rounds]; taken < one || taken > trials*2 || one != 2 {
		t.Fatalf("a client takes part %d times in %d trials, %d in one", taken, trials, one)
	}
	square := func(x float64) float64 { return x * x }
	for _, scores := range []string{"", scoresPublic} {
		for _, mechanism := range []string{fl.LocalNoise, fl.TreeNoise} {
			c.DP = DP{Mechanism: mechanism, Epsilon: 6, Delta: delta, Clip: 0.5, TuningShare: 0.2, Scores: scores}
			if err := c.checkPrivateTuning(); (err != nil) != (mechanism == fl.LocalNoise && scores == "") {
				t.Errorf("%s with scores %q: %v", mechanism, scores, err)
			}
			if mechanism == fl.LocalNoise && scores == "" {
				continue
			}
			p, a, err := c.Privacy(make([]int, clients), true)
			if err != nil {
				t.Fatal(err)
			}
			moves, nodes := 2.0, taken
			if mechanism == fl.TreeNoise { // of 5 rounds, and one of the 3 left
				moves, nodes = 1, trials*(3+2)
			}
			precision := float64(nodes) * square(moves/p.Noise)
			if scores == "" {
				round, final := a.Scores(c.Score.Options())
				precision += float64(taken) * square(0.5/round.Noise)
				precision += square(0.5 * math.Sqrt(float64(c.Finalists.Most())) / final.Noise)
			}
			want := privacy.Plan{Q: 1, Sigma: 1 / math.Sqrt(precision), Steps: 1}.PLD(delta)
			if got := a.After(a.Rounds).Epsilon; math.Abs(got-want) > 1e-3 || got > 6 || got < 5.999 {
				t.Errorf("%s with scores %q: the study costs %v, its releases %v", mechanism, scores, got, want)
			}
			if a.Rounds != trials*rounds || a.After(a.Rounds).Participations != taken || a.Bound(rounds) > a.Bound(2*rounds) {
				t.Errorf("%s: %d rounds, %d participations", mechanism, a.Rounds, a.After(a.Rounds).Participations)
			}
		}
	}
	// Clients' gradients: the client that spends most takes as many steps in each trial.
	c.DP = DP{Mechanism: fl.SampleNoise, Epsilon: 3, Delta: delta, Clip: 1, Scores: scoresPublic}
	c.Client.Batch, c.Client.Epochs = 10, 1
	p, a, err := c.Privacy(slices.Repeat([]int{40}, clients), true)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := privacy.Plan{Q: 0.25, Sigma: p.Noise, Steps: 4 * taken}.RDP(delta)
	if got := a.After(a.Rounds).Epsilon; math.Abs(got-want) > 1e-6 || got > 3 || got < 2.99 {
		t.Errorf("sample: the study costs %v, its releases %v", got, want)
	}
	c.Space = map[string]any{"client.batch": map[string]any{"log2": []any{int64(2), int64(5)}}}
	if err := c.checkPrivateTuning(); err == nil || !strings.Contains(err.Error(), `accounts for one batch size`) {
		t.Errorf("got %v", err)
	}
}

// TestBoundOfSpace has a study take aggregator.bound from its space, but not a run.
func TestBoundOfSpace(t *testing.T) {
	t.Parallel()
	c := Default()
	c.Aggregator.Name = "norm_bound"
	c.Space = map[string]any{"aggregator.bound": map[string]any{"log10": []any{-1.0, 1.0}}}
	if err := c.CheckFor(ModeTune); err != nil {
		t.Error(err)
	}
	if a := c.Aggregation(); a.Bound == 0 || c.Aggregator.Bound != 0 {
		t.Errorf("the space gives a bound of %v, and the base %v", a.Bound, c.Aggregator.Bound)
	}
	const want = `aggregator.bound is not set: aggregator.name = "norm_bound" needs it`
	if err := c.CheckFor(ModeRun); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a run gives %v, want %q", err, want)
	}
	c.Space["aggregator.bound"] = map[string]any{"uniform": []any{-1.0, 1.0}}
	if err := c.CheckFor(ModeTune); err == nil || !strings.Contains(err.Error(), "space.aggregator.bound") {
		t.Errorf("a bound of -1 gives %v", err)
	}
}
