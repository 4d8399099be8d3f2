package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// checkAims returns an error for the first of objectives and constraints that a study
// cannot have.
func (c *Config) checkAims() error {
	for i, name := range c.Objectives {
		switch {
		case i == 0 && name != c.Objective:
			return &key.Error{Key: "objectives", Problem: fmt.Sprintf(": must begin with objective = %q, by which the model is chosen", c.Objective)}
		case slices.Contains(c.Objectives[:i], name):
			return &key.Error{Key: "objectives", Problem: fmt.Sprintf(": lists %q twice", name)}
		}
	}
	if len(c.Objectives) == 1 {
		return &key.Error{Key: "objectives", Problem: ": has one metric, which is objective; leave it out, or add others"}
	}
	for _, text := range c.Constraints {
		bound, err := tuners.ParseConstraint(text)
		if err != nil {
			return &key.Error{Key: "constraints", Problem: ": " + err.Error()}
		}
		if known := metrics(); !slices.Contains(known, bound.Metric) {
			return &key.Error{Key: "constraints", Problem: fmt.Sprintf(": unknown metric %q%s; available: %s",
				clip(bound.Metric), key.DidYouMean(bound.Metric, key.Names(known...)), strings.Join(known, ", "))}
		}
	}
	if aims := c.Aims(); aims.Many() {
		return c.checkMetrics(aims.Metrics())
	}
	return nil
}

// metrics are those that objectives and constraints may name.
func metrics() []string {
	i := slices.IndexFunc(keys, func(k key.Key) bool { return k.Name == "objectives" })
	return keys[i].Words
}

// checkMetrics returns an error for what a study of several objectives or with constraints
// cannot have.
func (c *Config) checkMetrics(names []string) error {
	at, listed := "objectives", len(c.Objectives) > 0
	if !listed {
		at = "constraints"
	}
	refuse := func(problem string, args ...any) error {
		return &key.Error{Key: at, Problem: fmt.Sprintf(problem, args...)}
	}
	switch {
	case c.ToGoal():
		return refuse(": not with objective = %q, whose trials end at different rounds; use \"error\" and \"seconds_simulated\"", c.Objective)
	case c.Select != SelectFinalists:
		return refuse(": select = %q looks at single scores; use %q", c.Select, SelectFinalists)
	}
	for _, name := range names[1:] {
		switch name {
		case tuners.MetricBytesUp, tuners.MetricBytesDown: // of the expected cohort where it is private
		case tuners.MetricSecondsSimulated:
			if c.Private() {
				return refuse(": %s tells of the clients of a private study, and no noise covers it; leave it out", name)
			}
		case tuners.MetricErrorUnseen, tuners.MetricUnseenAdapted:
			if c.Data.UnseenClients == 0 {
				return refuse(": %s needs clients that never train: set data.unseen_clients", name)
			}
			if c.ClientTuner.Name != "" && name == tuners.MetricUnseenAdapted {
				return refuse(": %s needs one trial's hyperparameters, and client tuner %q sets those of each round; use %s", name, c.ClientTuner.Name, tuners.MetricErrorUnseen)
			}
		case tuners.MetricEpsilon:
			if !c.Private() {
				return refuse(": %s needs a private study: set dp.epsilon or dp.noise", name)
			}
		default:
			if c.Private() || c.Score.Epsilon > 0 {
				return refuse(": %s would be a second look at clients' samples, which the noise of the score does not cover; leave it out", name)
			}
		}
	}
	return nil
}
