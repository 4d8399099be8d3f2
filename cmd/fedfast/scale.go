package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// scale is the value of the flag --scale, above 0 to 1; 0 is none.
type scale float64

// String writes the flag's value, nothing for none.
func (s *scale) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

// Set reads the flag's value.
func (s *scale) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x > 0 && x <= 1) {
		return errors.New("must be a number above 0 and at most 1, such as 0.25")
	}
	*s = scale(x)
	return nil
}

// Type names the value in the help.
func (s *scale) Type() string { return "factor" }

// apply shrinks a configuration's rounds and budget, and the side federations of
// fedtune-hrt, and says what has changed: of the study file's keys those that the
// command reads.
func (s *scale) apply(c *config.Config, mode string) (string, error) {
	if *s == 0 || *s == 1 {
		return "", nil
	}
	var changes []string
	shrink := func(key string, n *int, tell bool) {
		if *n <= 0 {
			return // Check says what is wrong
		}
		was := *n
		*n = max(1, int(math.Round(float64(was)*float64(*s))))
		if tell {
			changes = append(changes, fmt.Sprintf("%s %d instead of %d", key, *n, was))
		}
	}
	run := mode == config.ModeRun
	shrink("rounds", &c.Rounds, run)
	shrink("budget.rounds", &c.Budget.Rounds, !run)
	shrink("budget.trial_rounds", &c.Budget.TrialRounds, !run)
	if role, options := fedtuneOptions(c); role != "" {
		const key = "scale"
		was := 1.0
		if x, ok := options[key]; ok {
			v, err := tuners.ValueOf(x)
			if was, ok = v.Float(); err != nil || !ok {
				return "", fmt.Errorf("%s.options.%s: must be a number, not %v", role, key, x)
			}
		}
		if options == nil {
			options = map[string]any{}
		}
		options[key] = was * float64(*s)
		if role == "tuner" {
			c.Tuner.Options = options
		} else {
			c.ClientTuner.Options = options
		}
		if !run {
			changes = append(changes, fmt.Sprintf("%s.options.%s %v instead of %v", role, key, options[key], was))
		}
	}
	return "by " + s.String() + ": " + strings.Join(changes, ", "), nil
}

// enough refuses a factor with which a tuner has too few rounds, and names the
// least larger one that works.
func (s *scale) enough(ctx context.Context, o *opened, tuner, client *host.Plugin) error {
	if *s == 0 || o.loaded == nil || o.scaled == "" {
		return nil
	}
	problem, err := shortOf(ctx, o.config, tuner, client)
	if err != nil || problem == "" {
		return err
	}
	for x := *s; x < 1; {
		x = scale(repro.LargerScale(float64(x)))
		c, err := o.loaded()
		if err != nil {
			return err
		}
		if _, err := x.apply(c, config.ModeTune); err != nil {
			return err
		}
		left, err := shortOf(ctx, c, tuner, client)
		if err != nil {
			return err
		}
		if left == "" {
			return usageError{fmt.Errorf("--scale %v: %s; --scale %.6g works", s, problem, float64(x))}
		}
	}
	return usageError{fmt.Errorf("--scale %v: %s", s, problem)}
}

// shortOf returns what tuners say against a configuration's budget, empty when
// nothing; anything else that is wrong is told when the study begins.
func shortOf(ctx context.Context, c *config.Config, all ...*host.Plugin) (string, error) {
	space, err := tuners.ParseSpace(c.Space)
	if err != nil {
		return "", nil // as above
	}
	for i, options := range []map[string]any{c.Tuner.Options, c.ClientTuner.Options} {
		if all[i] == nil {
			continue
		}
		params, err := tuners.ParamsOf(options)
		if err != nil {
			return "", nil // as above
		}
		problems, err := all[i].Validate(ctx, tuners.ValidateRequest{
			Space: space, Options: params, Objective: tuners.Objective{Metric: c.Objective, Target: c.Target},
			Budget: tuners.Budget{Rounds: c.Budget.Rounds, TrialRounds: c.Budget.TrialRounds},
		})
		if err != nil {
			return "", err
		}
		for _, p := range problems {
			if strings.HasPrefix(p.Key, "budget.") {
				return p.Key + ": " + p.Message, nil
			}
		}
	}
	return "", nil
}

// printScaled says before a result that --scale has shrunk what it is of.
func (s *opened) printScaled(w io.Writer) error {
	if s.scaled == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "scaled %s\n\n", s.scaled)
	return err
}
