package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// driver is a study at work.
type driver struct {
	setup     *Setup
	engine    *fl.Engine
	meter     *meter
	method    fl.Method
	base      hyper.Values
	space     tuners.Space
	adds      map[string]bool // names of the client tuner's own dimensions
	budget    tuners.Budget
	objective tuners.Objective
	scale     Scale // of the scores, for the display only

	clientOptions  tuners.Params
	clientScalars  []string // facts about clients that it asks for
	clientControls []string // patterns of the hyperparameters that it sets
	prepared       []byte   // state that opens its sessions, nil without a preparation
	sides          []SideTrial
	scoreProbes    []string

	trials  []*trial
	history *history
	forks   bool // the tuner copies trials, also stopped ones
	lone    bool // the client tuner has no wrapper: there is one trial

	taking sync.Mutex // guards best
	best   ranking    // the models that are kept
	told   ranking    // the same without weights, of what the tuner was told

	mu     sync.Mutex  // guards what follows
	free   [][]float32 // weights that no candidate holds
	rounds int
	over   int // trials that will not go on, for the display only
}

// newDriver checks a set-up with its tuners, reads what is recorded of the study
// and starts the engine.
func newDriver(ctx context.Context, s *Setup) (*driver, error) {
	c := &s.Config
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := checkMetrics(s); err != nil {
		return nil, err
	}
	past, err := readHistory(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	engine, err := s.engine()
	if err != nil {
		return nil, err
	}
	method, _ := fl.MethodByName(c.Method) // the engine has it
	budget := tuners.Budget{Rounds: c.Budget.Rounds, TrialRounds: c.Budget.TrialRounds}
	meter := newMeter(s, engine)
	d := &driver{
		setup: s, engine: engine, meter: meter, method: method, base: c.Hyper(), adds: map[string]bool{}, history: past,
		budget: budget, objective: meter.objective, scale: ScaleOf(c, measureOf(s.Model)),
	}
	d.scoreProbes = s.scoreProbes()
	if err := d.openTuners(ctx); err != nil {
		engine.Close()
		return nil, err
	}
	return d, nil
}

// scoreProbes are the probes from which a round's scores come.
func (s *Setup) scoreProbes() []string {
	c := &s.Config
	switch {
	case s.Unscored:
		return nil
	case c.Score.Both:
		return []string{"val_error_before", "val_error_after"}
	case c.Target == tuners.TargetPersonalized:
		return []string{"val_error_after"}
	}
	return []string{"val_error_before"}
}

// checkMetrics returns an error for an objective that the model's loss does not
// have, and for what needs an error from 0 to 1.
func checkMetrics(s *Setup) error {
	if err := checkCurve(s); err != nil {
		return err
	}
	if s.Model.Loss().Numbers() && s.Config.Score.Epsilon > 0 {
		return &key.Error{Key: "score.epsilon", Problem: ": the error of a regression has no bound, so no noise makes it private; leave score.epsilon out"}
	}
	return checkMetric(s.Model, s.Config.Objective)
}

// openTuners merges the search space and checks what the client tuner asks for.
func (d *driver) openTuners(ctx context.Context) error {
	c := &d.setup.Config
	var err error
	if d.space, err = tuners.ParseSpace(c.Space); err != nil {
		return fmt.Errorf("space: %w", err)
	}
	if d.clientOptions, err = parseOptions("client_tuner", c.ClientTuner.Options); err != nil {
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
		d.clientScalars, d.clientControls = desc.Scalars, desc.Controls
		for _, name := range slices.Concat(desc.Probes, desc.Scalars) {
			if err := c.Allows(name, slices.Contains(desc.Scalars, name)); err != nil {
				return &key.Error{Key: "client_tuner.name", Problem: fmt.Sprintf(" = %q: %v", desc.Name, err)}
			}
		}
		for _, dim := range desc.Adds {
			d.adds[dim.Name] = true
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
		if _, ok := hyper.FindTunable(dim.Name); !ok && !d.adds[dim.Name] {
			return &key.Error{Key: config.SpaceKey(dim.Name), Problem: ": " + hyper.Unknown(dim.Name).Error()}
		}
	}
	return nil
}

// validate lets a tuner check the set-up; every problem becomes an error that
// names its key.
func (d *driver) validate(ctx context.Context, role string, t tuners.Tuner, options tuners.Params) error {
	if t == nil {
		return nil
	}
	if err := knownOptions(ctx, role, t, options); err != nil {
		return err
	}
	problems, err := t.Validate(ctx, tuners.ValidateRequest{Space: d.space, Options: options, Budget: d.budget, Objective: d.objective})
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	var errs []error
	for _, p := range problems {
		name := p.Key
		if option, ok := strings.CutPrefix(name, "options."); ok {
			name = role + ".options." + option
		}
		errs = append(errs, &key.Error{Key: name, Problem: ": " + p.Message})
	}
	return errors.Join(errs...)
}

// knownOptions returns an error for the first option that the tuner does not have.
func knownOptions(ctx context.Context, role string, t tuners.Tuner, options tuners.Params) error {
	desc, err := t.Describe(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	var known []string
	for _, o := range desc.Options {
		known = append(known, o.Name)
	}
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

// close ends the sessions of all trials and the engine.
func (d *driver) close() {
	for _, t := range d.trials {
		_ = t.session.close(context.Background()) // the study's outcome is decided
	}
	d.engine.Close()
}

// roundDone counts a round and tells the display.
func (d *driver) roundDone(t *trial, toRound int, r *roundRecord, score float64) {
	if d.meter.unscored {
		score = math.NaN() // also where all were dropped, who would score the worst
	}
	d.mu.Lock()
	d.rounds++
	own := float64(r.Score)
	if d.meter.unscored {
		own = math.NaN()
	}
	t.recent.Add(own, len(r.Clients))
	t.standing = t.recent.Standing(t.number, t.rounds, len(t.rungs) > 0 || t.rounds >= toRound)
	p := Progress{
		Trial: t.number, TrialRound: t.rounds, ToRound: toRound, Rung: len(t.rungs) + 1, Round: d.rounds, Rounds: d.budget.Rounds,
		Loss: float64(r.TrainLoss), Dropped: r.Dropped, Measure: measureOf(d.setup.Model), Score: score, Best: d.leader(), Scale: d.scale, Clients: t.clients,
		Trials: len(d.trials), TrialsLeft: len(d.trials) - d.over,
	}
	d.mu.Unlock()
	if n := len(t.curve); n > 0 {
		p.TestError = &t.curve[n-1].TestError
	}
	d.setup.Observer.Progress(p)
}

// leader is the standing of the best trial so far; failed ones have none. d.mu is held.
func (d *driver) leader() Standing {
	best := Standing{Score: math.NaN()}
	for _, t := range d.trials {
		if t.recent.rounds > 0 && !t.failed && t.standing.Before(best, d.objective) {
			best = t.standing
		}
	}
	return best
}

// ended counts a trial that will not go on, once.
func (d *driver) ended(t *trial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !t.over {
		t.over = true
		d.over++
	}
}
