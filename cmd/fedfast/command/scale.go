package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/repro"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
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
		return errors.New("must be greater than 0 and at most 1, such as 0.25")
	}
	*s = scale(x)
	return nil
}

// Type names the value in the help.
func (s *scale) Type() string { return "factor" }

// apply shrinks a configuration's rounds and budget, and those options of its
// tuners that they say are scaled, and says what has changed: of the study file's
// keys those that the command reads. scaled returns these options of a tuner.
func (s *scale) apply(c *config.Config, mode string, scaled func(name string) []tuners.Option) (string, error) {
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
	for _, of := range []struct {
		role, name string
		options    *map[string]any
	}{{"tuner", c.Tuner.Name, &c.Tuner.Options}, {"client_tuner", c.ClientTuner.Name, &c.ClientTuner.Options}} {
		for _, o := range scaled(of.name) {
			is, was, err := scaledOption(*of.options, o, float64(*s))
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
	return "by " + s.String() + ": " + strings.Join(changes, ", "), nil
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

// scaledOptions returns the options of a tuner that --scale multiplies; a tuner
// that cannot be asked has none, and what is wrong with it is told when it is
// started. A tuner is asked once.
func (a *app) scaledOptions(ctx context.Context) func(name string) []tuners.Option {
	known := map[string][]tuners.Option{}
	return func(name string) []tuners.Option {
		scaled, asked := known[name]
		if asked {
			return scaled
		}
		for _, o := range a.describe(ctx, name).Options {
			if o.Scaled {
				scaled = append(scaled, o)
			}
		}
		known[name] = scaled
		return scaled
	}
}

// describe returns a tuner's description; it is empty if name is empty or the tuner
// cannot be started.
func (a *app) describe(ctx context.Context, name string) (d tuners.Description) {
	if name == "" {
		return d
	}
	if t, ok := plugins.Builtin()[name]; ok {
		d, _ = t.Describe(ctx) // a built-in tuner's never fails
		return d
	}
	t, err := a.launch(ctx, "tuner", name)
	if err != nil {
		return d
	}
	defer t.Close()
	d, _ = t.Describe(ctx) // as above
	return d
}

// enough refuses a factor with which a tuner has too few rounds, and names the
// least larger one that works.
func (s *scale) enough(ctx context.Context, a *app, o *opened, tuner, client workdir.Tuner) error {
	if *s == 0 || o.loaded == nil || o.Scaled == "" {
		return nil
	}
	problem, err := shortOf(ctx, o.Config, tuner, client)
	if err != nil || problem == "" {
		return err
	}
	scaled := a.scaledOptions(ctx)
	for x := *s; x < 1; {
		x = scale(repro.LargerScale(float64(x)))
		c, err := o.loaded()
		if err != nil {
			return err
		}
		if _, err := x.apply(c, config.ModeTune, scaled); err != nil {
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
	return nil // it is wrong at any scale, and told when the study begins
}

// shortOf returns the first thing that tuners say against a configuration, empty
// when nothing; anything else that is wrong is told when the study begins.
func shortOf(ctx context.Context, c *config.Config, all ...workdir.Tuner) (string, error) {
	for i, options := range []map[string]any{c.Tuner.Options, c.ClientTuner.Options} {
		if all[i] == nil {
			continue
		}
		req, err := c.Request(options)
		if err != nil {
			return "", nil // as above
		}
		problems, err := all[i].Validate(ctx, req)
		if err != nil {
			return "", err
		}
		if len(problems) > 0 {
			p := problems[0]
			if option, ok := strings.CutPrefix(p.Key, "options."); ok {
				p.Key = []string{"tuner", "client_tuner"}[i] + ".options." + option
			}
			return p.Key + ": " + p.Message, nil
		}
	}
	return "", nil
}

// printScaled says before a result that --scale has shrunk what it is of.
func (s *opened) printScaled(w io.Writer) error {
	if s.Scaled == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "scaled %s\n\n", s.Scaled)
	return err
}
