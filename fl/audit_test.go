package fl

import (
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/privacy"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestAudit passes an honest mechanism and catches planted bugs: clipping that is left out,
// and noise that is halved, whoever adds it.
func TestAudit(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 200, 40)
	const rounds, delta = 10, 1e-6
	clients := len(fed.Clients)
	for _, c := range []struct {
		promised Privacy
		account  privacy.Plan
	}{
		{Privacy{Mechanism: CentralNoise, Noise: 3}, privacy.Plan{Q: 40 / float64(clients), Sigma: 3, Steps: rounds}},
		{
			Privacy{Mechanism: LocalNoise, Noise: 20},
			privacy.Plan{Q: 1, Sigma: 10, Steps: (&Config{
				Seed: 6, Cohort: 40,
				Shuffle: true,
			}).MostTaken(clients, 0, rounds)[rounds]},
		},
		{
			Privacy{Mechanism: TreeNoise, Noise: 12},
			privacy.Plan{Q: 1, Sigma: 12, Steps: privacy.TreeSteps(rounds, clients/40)},
		},
		{Privacy{Mechanism: BandedNoise, Noise: 8}, privacy.Plan{Q: 1, Sigma: 8, Steps: 2}},
	} {
		t.Run(c.promised.Mechanism, func(t *testing.T) {
			t.Parallel()
			c.promised.Clip = 0.3
			testAudit(t, fed, c.promised, rounds, delta, c.account.PLD(delta))
		})
	}
}

func testAudit(t *testing.T, fed *data.Federation, promised Privacy, rounds int, delta, account float64) {
	for _, c := range []struct {
		name    string
		run     Privacy
		exceeds bool // the lower bound exceeds the account
		quiet   bool // the noise is too low
	}{
		{"honest", promised, false, false},
		{"more noise", Privacy{Clip: 0.3, Noise: 2 * promised.Noise}, false, false},
		{"no clipping", Privacy{Clip: 1e9, Noise: promised.Noise * promised.Clip / 1e9}, true, false},
		{"half the noise", Privacy{Clip: 0.3, Noise: promised.Noise / 2}, false, true},
	} {
		c.run.Mechanism = promised.Mechanism
		shuffle := promised.Mechanism != CentralNoise
		cfg := Config{
			Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 40, Poisson: !shuffle,
			Shuffle: shuffle, Seed: 6, Privacy: &c.run,
		}
		got, err := Audit(t.Context(), cfg, Plan{}, promised, rounds, 120)
		if err != nil {
			t.Fatal(err)
		}
		bound, quiet := privacy.LowerBound(got.Scores, got.In, delta, 0.95), privacy.NoiseTooLow(got.Squares, got.Draws)
		if (bound > account) != c.exceeds || quiet != c.quiet {
			t.Errorf("%s: the lower bound is %.3f, the account %.3f; noise too low: %v (%.0f of %d)", c.name, bound, account,
				quiet, got.Squares, got.Draws)
		}
		if c.exceeds && bound < 1.5 {
			t.Errorf("%s: the lower bound is only %v", c.name, bound)
		}
	}
}
