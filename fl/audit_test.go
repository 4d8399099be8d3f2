package fl

import (
	"testing"

	"github.com/fedfast/fedfast/fl/internal/fltest"
	"github.com/fedfast/fedfast/internal/privacy"
)

// TestAudit passes an honest mechanism and catches planted bugs: clipping that is left out,
// and noise that is halved.
func TestAudit(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 200, 40)
	promised := Privacy{Clip: 0.3, Noise: 3}
	const rounds, delta = 10, 1e-6
	account := privacy.Plan{Q: 40 / float64(len(fed.Clients)), Sigma: promised.Noise, Steps: rounds}.PLD(delta)
	for _, c := range []struct {
		name    string
		run     Privacy
		exceeds bool // the lower bound exceeds the account
		quiet   bool // the noise is too low
	}{
		{"honest", promised, false, false},
		{"more noise", Privacy{Clip: 0.3, Noise: 6}, false, false},
		{"no clipping", Privacy{Clip: 1e9, Noise: promised.Noise * promised.Clip / 1e9}, true, false},
		{"half the noise", Privacy{Clip: 0.3, Noise: promised.Noise / 2}, false, true},
	} {
		cfg := Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: average(), Cohort: 40, Poisson: true, Seed: 6, Privacy: &c.run}
		got, err := Audit(t.Context(), cfg, Plan{}, promised, rounds, 120)
		if err != nil {
			t.Fatal(err)
		}
		bound, quiet := privacy.LowerBound(got.Scores, got.In, delta, 0.95), privacy.NoiseTooLow(got.Squares, got.Draws)
		if (bound > account) != c.exceeds || quiet != c.quiet {
			t.Errorf("%s: the lower bound is %.3f, the account %.3f; noise too low: %v (%.0f of %d)", c.name, bound, account, quiet, got.Squares, got.Draws)
		}
		if c.exceeds && bound < 2 {
			t.Errorf("%s: the lower bound is only %v", c.name, bound)
		}
	}
}
