package workdir

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
)

// Scale multiplies the rounds and the budget of a configuration, and those options of its
// tuners that describe themselves as scaled, by a factor in (0, 1], so that a study can be
// tried out. It returns in words what has changed of what a study of the mode reads, for
// Study.Scaled; empty is nothing. A tuner that launch does not find has no such options.
func Scale(ctx context.Context, c *config.Config, mode string, factor float64, launch Launcher) (string, error) {
	switch {
	case !(factor > 0 && factor <= 1):
		return "", fmt.Errorf("scale %v: must be greater than 0 and at most 1, such as 0.25", factor)
	case factor == 1:
		return "", nil
	}
	var changes []string
	shrink := func(key string, n *int, tell bool) {
		if *n <= 0 {
			return // CheckFor says what is wrong
		}
		was := *n
		*n = max(1, int(math.Round(float64(was)*factor)))
		if tell {
			changes = append(changes, fmt.Sprintf("%s %d instead of %d", key, *n, was))
		}
	}
	run := mode == config.ModeRun
	shrink("rounds", &c.Rounds, run)
	shrink("budget.rounds", &c.Budget.Rounds, !run)
	shrink("budget.trial_rounds", &c.Budget.TrialRounds, !run)
	shrink("budget.seconds", &c.Budget.Seconds, !run)
	shrink("budget.trial_seconds", &c.Budget.TrialSeconds, !run)
	shrink("budget.updates", &c.Budget.Updates, !run)
	shrink("budget.trial_updates", &c.Budget.TrialUpdates, !run)
	for _, of := range []struct {
		role, name string
		options    *map[string]any
	}{{"tuner", c.Tuner.Name, &c.Tuner.Options}, {"client_tuner", c.ClientTuner.Name, &c.ClientTuner.Options}} {
		for _, o := range scaledOptions(ctx, launch, of.role, of.name) {
			is, was, err := scaledOption(*of.options, o, factor)
			if err != nil {
				return "", fmt.Errorf("%s.options.%w", of.role, err)
			}
			if *of.options == nil {
				*of.options = map[string]any{}
			}
			(*of.options)[o.Name] = is
			if !run {
				changes = append(changes, fmt.Sprintf("%s.options.%s %v instead of %v", of.role, o.Name, is, was))
			}
		}
	}
	return fmt.Sprintf("by %v: %s", factor, strings.Join(changes, ", ")), nil
}

// scaledOption returns a tuner's option times a factor, and what it was.
func scaledOption(options map[string]any, o tuners.Option, factor float64) (is, was float64, err error) {
	v := o.Default
	if x, ok := options[o.Name]; ok {
		if v, err = tuners.ValueOf(x); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", o.Name, err)
		}
	}
	was, ok := v.Float()
	if !ok {
		return 0, 0, fmt.Errorf("%s: must be a number, not %v", o.Name, v)
	}
	return was * factor, was, nil
}

// scaledOptions returns the options of a tuner that are scaled. One that cannot be asked
// has none; what is wrong with it is an error when the study begins.
func scaledOptions(ctx context.Context, launch Launcher, role, name string) (scaled []tuners.Option) {
	if name == "" || launch == nil {
		return nil
	}
	t, err := launch(ctx, Launch{Key: role + ".name", Name: name})
	if err != nil {
		return nil
	}
	defer t.Close()
	about, err := t.Describe(ctx)
	if err != nil {
		return nil
	}
	for _, o := range about.Options {
		if o.Scaled {
			scaled = append(scaled, o)
		}
	}
	return scaled
}
