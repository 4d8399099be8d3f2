package study

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
)

// Audit trains the private run of a set-up in which some clients are canaries, and tells
// from what the server receives which of them took part; see fl.Audit.
func Audit(ctx context.Context, s Setup, canaries int) (*result.AuditResult, error) {
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
	r := &result.AuditResult{Epsilon: account.Epsilon, Delta: c.DP.Delta, Canaries: canaries, Rounds: c.Rounds, NoiseTooLow: privacy.NoiseTooLow(got.Squares, got.Draws)}
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
