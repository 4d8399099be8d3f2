package study

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
)

// AuditResult is what an audit of a private run found.
type AuditResult struct {
	// Epsilon at Delta is that of the account of the rounds, of the run itself.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// LowerBound is an epsilon that the rounds exceed with a confidence of 95 %.
	LowerBound float64 `json:"lower_bound"`
	// NoiseTooLow says that the noise is below what was promised, with an error of one in
	// 1,000. Passed says that neither shows a bug.
	NoiseTooLow bool `json:"noise_too_low"`
	Passed      bool `json:"passed"`
	Canaries    int  `json:"canaries"`
	Rounds      int  `json:"rounds"`
}

// Audit trains the private run of a set-up in which some clients are canaries, and tells
// from what the server receives which of them took part; see fl.Audit.
func Audit(ctx context.Context, s Setup, canaries int) (*AuditResult, error) {
	s.Unscored = true
	s.untune()
	c := &s.Config
	if !c.Private() {
		return nil, &key.Error{Key: "dp.epsilon", Problem: " is not set: an audit is of a private run; set dp.epsilon, such as 8"}
	}
	if c.DP.Quantile > 0 {
		return nil, &key.Error{Key: "dp.quantile", Problem: fmt.Sprintf(" = %v: an audit needs a fixed clipping norm; set dp.clip", c.DP.Quantile)}
	}
	if c.DP.Mechanism == fl.SampleNoise {
		return nil, &key.Error{Key: "dp.mechanism", Problem: fmt.Sprintf(" = %q: the canaries of an audit are clients, and it protects samples; use another mechanism", c.DP.Mechanism)}
	}
	cfg, err := s.training()
	if err != nil {
		return nil, err
	}
	if cfg.Privacy, s.account, err = c.Privacy(s.sizes(), false); err != nil {
		return nil, err
	}
	h := c.Hyper()
	got, err := fl.Audit(ctx, cfg, fl.Plan{Server: h.Server, Clients: []fl.ClientParams{h.Client}}, *cfg.Privacy, c.Rounds, canaries)
	if err != nil {
		return nil, err
	}
	account := s.account.After(c.Rounds)
	r := &AuditResult{Epsilon: account.Epsilon, Delta: c.DP.Delta, Canaries: canaries, Rounds: c.Rounds, NoiseTooLow: privacy.NoiseTooLow(got.Squares, got.Draws)}
	if account.Deployment {
		if account.Own == nil {
			return nil, &key.Error{Key: "dp.population", Problem: ": the run itself has so little noise that no account says what it costs; leave out dp.population and dp.noise_cohort"}
		}
		r.Epsilon = *account.Own
	}
	r.LowerBound = privacy.LowerBound(got.Scores, got.In, c.DP.Delta, 0.95)
	r.Passed = r.LowerBound <= r.Epsilon && !r.NoiseTooLow
	return r, nil
}
