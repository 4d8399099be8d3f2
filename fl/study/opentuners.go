package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/rules"
	"github.com/fedfast/fedfast/tuners"
)

// openTuners merges the search space and checks what the client tuner asks for.
func (d *driver) openTuners(ctx context.Context) error {
	c := &d.setup.Config
	var err error
	if d.space, err = tuners.ParseSpace(c.Space); err != nil {
		return fmt.Errorf("space: %w", err)
	}
	options, err := parseOptions("client_tuner", c.ClientTuner.Options)
	if err != nil {
		return err
	}
	if t := d.setup.ClientTuner; t != nil {
		desc, err := t.Describe(ctx)
		if err != nil {
			return fmt.Errorf("client tuner %s: %w", c.ClientTuner.Name, err)
		}
		if !desc.Rounds {
			return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(" = %q: it sets no client hyperparameters; use it as tuner.name", desc.Name)}
		}
		if keyed := slices.Contains(desc.Scalars, tuners.ScalarClientKey); !d.study.Engine.DrawsCohorts() && (keyed || !desc.Jobs) {
			role := "client_tuner.name"
			if d.setup.Tuner != nil && c.Tuner.Name == c.ClientTuner.Name { // it is set as the tuner
				role = "tuner.name"
			}
			return &key.Error{Key: role, Problem: fmt.Sprintf(" = %q: it needs every client of a round, and to know them "+
				"before: with these settings clients are chosen by what they have done, or some are late, away or lost; use "+
				"fedex or fathom, or sampling = \"without\", time.mode = %q without time.deadline and time.overselect, "+
				"fleet.availability = %q, and neither fleet.dropout nor fleet.hazard", desc.Name, fleet.Sync, fleet.Patterns[0])}
		}
		for _, name := range desc.Controls {
			if problem := d.study.Hyper.Method.Ignores(name); problem != "" {
				return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(" = %q: it sets %s: %s", desc.Name, name, problem)}
			}
		}
		d.study.Client = &trial.ClientTuner{Tuner: t, Scalars: desc.Scalars, Controls: desc.Controls, Request: tuners.OpenRequest{
			Study: c.Name, Options: options, Budget: d.budget, Objective: d.objective, Seed: c.Seed,
		}}
		for _, name := range slices.Concat(desc.Probes, desc.Scalars) {
			if err := c.Allows(name, slices.Contains(desc.Scalars, name)); err != nil {
				return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(" = %q: %v", desc.Name, err)}
			}
		}
		if a := d.setup.account; a != nil && !a.Tuning.Public {
			d.study.Client.Noise = a.GroupNoise()
			if err := checkPrivate(desc); err != nil {
				return err
			}
		}
		for _, dim := range desc.Adds {
			d.study.Hyper.Adds[dim.Name] = true
			if !slices.ContainsFunc(d.space, func(have tuners.Dim) bool { return have.Name == dim.Name }) {
				d.space = append(d.space, dim)
			}
		}
	}
	if err := d.joinChoices(ctx); err != nil {
		return err
	}
	slices.SortFunc(d.space, func(a, b tuners.Dim) int { return strings.Compare(a.Name, b.Name) })
	for _, dim := range d.space {
		if strings.HasPrefix(dim.Name, tuners.ArchPrefix) {
			continue // joinChoices has checked it
		}
		if _, ok := hyper.FindTunable(dim.Name); !ok && !d.study.Hyper.Adds[dim.Name] {
			return &key.Error{Key: config.SpaceKey(dim.Name), Problem: ": " + config.UnknownDim(dim.Name).Error()}
		}
	}
	if d.study.Client != nil {
		d.study.Client.Request.Space = d.space
	}
	return nil
}

// checkPrivate returns an error for a client tuner that a private study cannot have.
func checkPrivate(desc tuners.Description) error {
	for _, name := range slices.Concat(desc.Probes, desc.Scalars) {
		if !trial.Private(name) {
			return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(" = %q: it observes %s, which has no bound, so "+
				"noise cannot make it private; use fedex or dp.scores = \"public\"", desc.Name, name)}
		}
	}
	return nil
}

// able returns an error for what a study has and its tuner cannot do.
func able(about tuners.Description, aims tuners.Aims, space tuners.Space) error {
	refuse := func(name, what, others string) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(": tuner %s takes no %s; use %s", about.Name, what, others)}
	}
	switch {
	case len(aims.Objectives) > 1 && !about.Multi:
		return refuse("objectives", "further objectives", "nsga2, tpe or random")
	case len(aims.Constraints) > 0 && !about.Constraints:
		return refuse("constraints", "constraints", "nsga2, tpe or random")
	case space.Conditional() && !about.Conditions:
		i := slices.IndexFunc(space, func(d tuners.Dim) bool { return d.When != nil })
		return refuse(config.SpaceKey(space[i].Name), "dimensions with a condition", "random, tpe, sobol or nsga2, or leave when out")
	}
	return nil
}

// validate lets a tuner check the set-up; every problem becomes an error that
// names its key.
func (d *driver) validate(ctx context.Context, role string, t tuners.Tuner, options tuners.Params) error {
	if err := knownOptions(ctx, role, t, options); err != nil {
		return err
	}
	problems, err := t.Validate(ctx, d.request(options))
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	var errs []error
	for _, p := range problems {
		name := rules.Unit(d.budget, p.Key)
		if option, ok := strings.CutPrefix(name, "options."); ok {
			name = role + ".options." + option
		}
		errs = append(errs, &key.Error{Key: name, Problem: ": " + rules.Unit(d.budget, p.Message)})
	}
	return errors.Join(errs...)
}

// request is the set-up as a tuner with these options sees it.
func (d *driver) request(options tuners.Params) tuners.ValidateRequest {
	return tuners.ValidateRequest{
		Space: d.space, Options: options, Budget: d.budget, Objective: d.objective, Extra: d.aims.Objectives[1:], Constraints: d.aims.Constraints,
		Private: d.setup.account != nil,
	}
}

// knownOptions returns an error for the first option that the tuner does not have.
func knownOptions(ctx context.Context, role string, t tuners.Tuner, options tuners.Params) error {
	desc, err := t.Describe(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	known := list.Of(desc.Options, func(o tuners.Option) string { return o.Name })
	for _, name := range options.Keys() {
		switch {
		case slices.Contains(known, name):
		case len(known) == 0:
			return &key.Error{Key: role + ".options." + name, Problem: fmt.Sprintf(": %s has no options", desc.Name)}
		default:
			return &key.Error{Key: role + ".options." + name, Problem: fmt.Sprintf(": %s has no such option%s; it has %s", desc.Name, key.DidYouMean(name, key.Names(known...)), strings.Join(known, ", "))}
		}
	}
	return nil
}

// parseOptions reads a tuner's table of options.
func parseOptions(role string, table map[string]any) (tuners.Params, error) {
	p, err := tuners.ParamsOf(table)
	if err != nil {
		return nil, fmt.Errorf("%s.options.%w", role, err)
	}
	return p, nil
}

// openStudySession lets the tuners check the set-up and returns the trial
// tuner's session.
func (d *driver) openStudySession(ctx context.Context) (*replay.Tuner, error) {
	c := &d.setup.Config
	switch b := d.budget; {
	case b.TrialRounds < 1:
		return nil, &key.Error{Key: "budget.trial_rounds", Problem: fmt.Sprintf(": a trial needs at least 1 round, not %d", b.TrialRounds)}
	case b.Rounds < 1:
		return nil, &key.Error{Key: "budget.rounds", Problem: fmt.Sprintf(" = %d: must be 1 or more", b.Rounds)}
	}
	if len(d.space) == 0 && (d.study.Client == nil || len(d.study.Client.Controls) == 0) {
		return nil, &key.Error{Key: "space", Problem: ": it is empty; a study needs at least one dimension, such as \"client.lr\" = {log10 = [-4, 0]}" + c.AutoSpace()}
	}
	if d.past.Study == nil { // one that runs is not ended by what it may never draw
		if err := config.CheckDims(d.space, d.study.Hyper.Base, d.study.Hyper.Method); err != nil {
			return nil, err
		}
	}
	desc, err := d.setup.Tuner.Describe(ctx)
	if err != nil {
		return nil, rules.Named(c.Tuner.Name, err)
	}
	if !desc.Trials {
		return nil, &key.Error{Key: "tuner.name", Problem: fmt.Sprintf(" = %q: it runs no trials; use it as client_tuner.name under a tuner such as sha or random", desc.Name)}
	}
	if !d.budget.InRounds() && !desc.Seconds {
		return nil, &key.Error{Key: c.Budget.Key(), Problem: fmt.Sprintf(": tuner %s counts rounds alone; use budget.rounds and budget.trial_rounds", desc.Name)}
	}
	if slices.Contains(desc.Scalars, "examples_val") {
		if err := c.Allows("examples_val", true); err != nil {
			return nil, &key.Error{Key: "tuner.name", Problem: fmt.Sprintf(" = %q: %v", desc.Name, err)}
		}
		d.samples = true
	}
	if b := d.budget; d.lone && !d.study.Forks && b.Rounds > b.TrialRounds {
		return nil, &key.Error{
			Key: rules.Unit(b, "budget.rounds"),
			Problem: rules.Unit(b, fmt.Sprintf(" = %d, budget.trial_rounds = %d: %s as tuner.name runs one trial, so both "+
				"must be the same; or use it as client_tuner.name under a tuner of many trials, such as sha", b.Rounds,
				b.TrialRounds, desc.Name)),
		}
	}
	if desc.Local && d.setup.account != nil && c.DP.SearchShare == 0 {
		return nil, &key.Error{Key: "dp.search_share", Problem: fmt.Sprintf(" = 0: tuner %s has clients train by themselves, which the account has to know; set a share, such as 0.1", desc.Name)}
	}
	if err := able(desc, d.aims, d.space); err != nil {
		return nil, err
	}
	options, err := parseOptions("tuner", c.Tuner.Options)
	if err != nil {
		return nil, err
	}
	if err := d.validate(ctx, "tuner", d.setup.Tuner, options); err != nil {
		return nil, err
	}
	if t := d.study.Client; t != nil {
		if err := d.validate(ctx, "client_tuner", t.Tuner, t.Request.Options); err != nil {
			return nil, err
		}
	}
	if d.begun == nil {
		if d.begun, err = d.priors(ctx, desc); err != nil {
			return nil, err
		}
	}
	start, err := c.Start(d.space)
	if err != nil {
		return nil, err
	}
	tuner := d.setup.Tuner
	if len(start) > 0 {
		tuner = started{tuner, start}
	}
	return d.past.NewTuner(c.Tuner.Name, tuner, desc, tuners.OpenRequest{
		Study: c.Name, Space: d.space, Options: options, Budget: d.budget,
		Objective: d.objective, Extra: d.aims.Objectives[1:], Constraints: d.aims.Constraints, Seed: c.Seed, Trial: tuners.StudySession,
		Priors: d.begun.List(),
	}), nil
}
