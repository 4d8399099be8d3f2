package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/plugins"
)

// scale is the value of the flag --scale, above 0 to 1; 0 without it.
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

// apply shrinks a configuration, see workdir.Scale.
func (s *scale) apply(ctx context.Context, a *app, c *config.Config, mode string) (string, error) {
	if *s == 0 {
		return "", nil
	}
	return workdir.Scale(ctx, c, mode, float64(*s), a.describer())
}

// describer launches tuners to ask what they are: those that are built in need no process.
func (a *app) describer() workdir.Launcher {
	builtin := plugins.Builtin()
	here, there := workdir.InProcess(builtin), a.launcher(true)
	return func(ctx context.Context, l workdir.Launch) (workdir.Tuner, error) {
		if builtin[l.Name] != nil {
			return here(ctx, l)
		}
		return there(ctx, l)
	}
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
	for x := *s; x < 1; {
		x = scale(repro.LargerScale(float64(x)))
		c, err := o.loaded()
		if err != nil {
			return err
		}
		if _, err := x.apply(ctx, a, c, config.ModeTune); err != nil {
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
