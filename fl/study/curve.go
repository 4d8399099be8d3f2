package study

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

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
