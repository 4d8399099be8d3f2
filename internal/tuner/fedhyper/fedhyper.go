// Package fedhyper is the built-in tuner `fedhyper`: the global scheduler of FedHyper
// (Wang et al. 2024), which moves the server's learning rate by its hypergradient:
// rounds whose mean change points where that of the round before did want a longer
// step.
//
// FedHyper is a client tuner, for methods that use server.lr. It starts from the value
// that the study or a wrapper's trial has. Alone it runs one trial of
// budget.trial_rounds rounds. A round's step is planned before its change is known, so
// the factor that the authors' code applies to a round applies to the next one here.
package fedhyper

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/internal/tuner/internal/record"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

const (
	lr  = "server.lr"          // that FedHyper controls
	dot = "dot_delta_previous" // its hypergradient
)

// Tuner is FedHyper.
var Tuner = options.Tuner[plan]{About: options.About("fedhyper"), Plan: newPlan, Trial: newSession}

// plan is what the options say.
type plan struct{ rate, least, most float64 }

func newPlan(r *options.Reader, _ tuners.ValidateRequest) plan {
	return plan{
		rate:  r.Real("rate", "non-negative", func(x float64) bool { return x >= 0 }),
		least: r.Real("least", "above -1 and at most 0", func(x float64) bool { return x > -1 && x <= 0 }),
		most:  r.Real("most", "non-negative", func(x float64) bool { return x >= 0 }),
	}
}

func newSession(req tuners.OpenRequest, p plan) (tuners.Session, error) {
	first, ok := req.Params[lr].Float()
	if !ok || !(first > 0) || !det.Finite(first) {
		return nil, fmt.Errorf("fedhyper: trial %d: initial %s must be greater than 0, not %s", req.Trial, lr, req.Params[lr])
	}
	s := &session{trial: req.Trial, first: first, plan: p}
	return s, s.Begin("fedhyper", req.State, &s.state)
}

// session is one trial's FedHyper.
type session struct {
	tuners.RoundsOnly
	record.Record
	trial int
	first float64 // server.lr of the trial
	plan  plan
	state state
}

var _ tuners.Prober = (*session)(nil)

// state is a: the sum of the hypergradients, bounded after each round.
type state struct {
	A float64 `json:"a"`
}

// Probes names the hypergradient.
func (s *session) Probes() []string { return []string{dot} }

// PlanRound sets the server's learning rate.
func (s *session) PlanRound(_ context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	if r.Trial != s.trial {
		return tuners.Plan{}, fmt.Errorf("fedhyper: plan for trial %d requested from the session of trial %d", r.Trial, s.trial)
	}
	x := float64(s.first * (1 + s.state.A))
	return tuners.Plan{
		Server: tuners.Params{lr: tuners.Num(x)}, Clients: []tuners.Params{{}}, Notes: map[string][]float64{lr: {x}},
	}, nil
}

// ObserveRound adds the round's hypergradient; one that is not finite changes nothing.
func (s *session) ObserveRound(_ context.Context, o tuners.Observation) error {
	if o.Trial != s.trial {
		return fmt.Errorf("fedhyper: observation of trial %d sent to the session of trial %d", o.Trial, s.trial)
	}
	h, ok := o.Aggregates[dot]
	if !ok {
		return fmt.Errorf("fedhyper: round %d: probe %s is missing", o.Round, dot)
	}
	if det.Finite(h) {
		s.state.A = min(max(s.state.A+float64(s.plan.rate*h), s.plan.least), s.plan.most)
	}
	return s.Save(&s.state)
}
