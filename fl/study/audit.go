package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/privacy"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
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

// checkMetric returns an error for a metric that models of a loss do not have.
func checkMetric(m *nn.Model, name string) error {
	own := map[nn.Target][]string{
		nn.OneLabel:   {tuners.MetricAccuracy, tuners.MetricSecondsToGoal, tuners.MetricJain},
		nn.ManyLabels: {tuners.MetricRecall, tuners.MetricSecondsToGoal, tuners.MetricJain},
		nn.Numbers:    {tuners.MetricRMSE, tuners.MetricMAE, tuners.MetricR2},
	}
	if fl.Measured(m) {
		answered := []string{tuners.MetricROCAUC, tuners.MetricPRAUC, tuners.MetricF1, tuners.MetricBalanced, tuners.MetricLogLoss}
		own[nn.OneLabel] = append(own[nn.OneLabel], answered...)
		own[nn.ManyLabels] = append(own[nn.ManyLabels], tuners.MetricMeanAP)
	}
	if tuners.Summed(name) {
		return nil
	}
	all, names := []string{
		"", tuners.MetricError, tuners.MetricLoss, tuners.MetricErrorP90, tuners.MetricErrorWorst,
		tuners.MetricErrorVariance, tuners.MetricErrorUnseen, tuners.MetricUnseenAdapted,
	}, own[m.Loss().Target()]
	if slices.Contains(all, name) || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("objective = %q: models with the loss %q have none; use %s, error or loss", name, cmp.Or(m.Loss().Kind, nn.CrossEntropy), strings.Join(names, ", "))
}

// started is a tuner that draws its trials, the first of which has given values.
type started struct {
	tuners.Tuner
	start tuners.Params
}

// Open starts or continues a session.
func (s started) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	session, err := s.Tuner.Open(ctx, req)
	return &startedSession{session, s.start}, err
}

// startedSession is a session of a started tuner.
type startedSession struct {
	tuners.Session
	start tuners.Params
}

// Suggest asks the tuner.
func (s *startedSession) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	decisions, err := s.Session.Suggest(ctx, n)
	for i := range decisions {
		if d := &decisions[i]; d.Kind == tuners.Start && d.Trial == 0 {
			d.Params = maps.Clone(d.Params)
			maps.Copy(d.Params, s.start)
		}
	}
	return decisions, err
}

// checkCurve returns an error for keys that ask for a curve of what there is not.
func checkCurve(s *Setup) error {
	eval, kind := s.Config.Eval, s.Model.Loss().Kind
	if s.Model.Loss().Numbers() && eval.Goal > 0 {
		return &key.Error{Key: "eval.goal", Problem: fmt.Sprintf(" = %v: models with the loss %q have no accuracy; leave it out", eval.Goal, kind)}
	}
	if err := checkPersonal(s); err != nil {
		return err
	}
	missing := ""
	switch {
	case !s.Config.Validates() && s.Tuner == nil:
		return nil
	case !slices.ContainsFunc(s.Data.Clients, func(c data.Client) bool { return c.Val.Len() > 0 }):
		missing = "validation"
	case s.Config.Validates() && CheckBaseline(s.Data) != nil:
		missing = "test"
	default:
		return nil
	}
	if eval.Patience == 0 {
		return &key.Error{Key: "objective", Problem: fmt.Sprintf(" = %q: no client has %s samples; set data.split, such as to 80/10/10", s.Config.Objective, missing)}
	}
	return &key.Error{Key: "eval.patience", Problem: fmt.Sprintf(" = %d: no client has %s samples; set data.split, or leave eval.patience out", eval.Patience, missing)}
}

// checkPersonal returns an error for measurements of personalized models that cannot be had.
func checkPersonal(s *Setup) error {
	c := &s.Config
	if m, err := fl.MethodByName(c.Method); err == nil && !c.Eval.Adapt && (m.Subnet != nil || m.Trains != nil) {
		return &key.Error{Key: "eval.adapt", Problem: fmt.Sprintf(" = false: clients of method %q train sub-networks, which no client keeps; leave it out", c.Method)}
	}
	problem := ""
	switch {
	case c.Eval.EveryTarget != tuners.TargetPersonalized:
		return nil
	case c.Eval.RecordEvery > 0 && c.ClientTuner.Name != "":
		problem = fmt.Sprintf("client tuner %q sets the hyperparameters of each round, so that eval.record_every cannot train with one trial's; leave one of them out", c.ClientTuner.Name)
	case c.Eval.RecordEvery == 0 && !slices.ContainsFunc(s.Data.Clients, func(c data.Client) bool { return c.Test.Len() > 0 }):
		problem = "no client has test samples; set data.split, or leave it out"
	case c.Eval.Adapt && c.ClientTuner.Name != "":
		problem = fmt.Sprintf("client tuner %q sets the hyperparameters of each round, and none between rounds; set eval.adapt = false, or leave it out", c.ClientTuner.Name)
	default:
		return nil
	}
	return &key.Error{Key: "eval.every_target", Problem: fmt.Sprintf(" = %q: %s", c.Eval.EveryTarget, problem)}
}
