// Package options makes built-in tuners, and reads their options with one clear line for
// each that is wrong.
package options

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/internal/tuner"
	"github.com/fedfast/fedfast/internal/tuner/internal/batch"
	"github.com/fedfast/fedfast/tuners"
)

// Reader reads the options of one request and collects what is wrong with them.
type Reader struct {
	Problems []tuners.Problem // in the order in which they were found
	name     string           // of the tuner
	values   tuners.Params
	bad      map[string]bool // names with a problem: they keep their default
	defaults tuners.Params
}

// Read checks names and kinds of the given options against a description.
func Read(d tuners.Description, given tuners.Params) *Reader {
	r := &Reader{name: d.Name, Problems: d.CheckOptions(given), values: d.WithDefaults(given), defaults: d.WithDefaults(nil), bad: map[string]bool{}}
	for _, p := range r.Problems {
		r.bad[p.Key] = true
	}
	return r
}

// Whole returns an integer from least to most. Anything else is a problem, and the
// default stands in for it.
func (r *Reader) Whole(name string, least, most int) int {
	key := "options." + name
	if r.bad[key] {
		return r.defaults.Int(name, least)
	}
	x := r.values.Float(name, 0)
	if n := int(x); float64(n) == x && n >= least && n <= most {
		return n
	}
	r.Problem(key, "%s must be an integer from %d to %d, not %s", name, least, most, r.values[name])
	return r.defaults.Int(name, least)
}

// Real returns a number that ok accepts; want says which those are. Anything else
// is a problem, and the default stands in for it.
func (r *Reader) Real(name, want string, ok func(float64) bool) float64 {
	key := "options." + name
	x := r.values.Float(name, 0)
	if !r.bad[key] && ok(x) {
		return x
	}
	if !r.bad[key] {
		r.Problem(key, "%s must be %s, not %s", name, want, r.values[name])
	}
	return r.defaults.Float(name, 0)
}

// Share returns a number from 0 to 1. Anything else is a problem, and the default stands
// in for it.
func (r *Reader) Share(name string) float64 {
	return r.Real(name, "from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
}

// TrialRounds reports whether a trial has a round; if not, this is a problem.
func (r *Reader) TrialRounds(b tuners.Budget) bool {
	if b.TrialRounds < 1 {
		r.Problem("budget.trial_rounds", "a trial needs at least 1 round, not %d", b.TrialRounds)
	}
	return b.TrialRounds >= 1
}

// Truth returns true or false.
func (r *Reader) Truth(name string) bool { return r.values.Truth(name, r.defaults.Truth(name, false)) }

// Text returns a string.
func (r *Reader) Text(name string) string { return r.values.Text(name, r.defaults.Text(name, "")) }

// OneOf returns one of the strings. Anything else is a problem, and the default
// stands in for it.
func (r *Reader) OneOf(name string, valid ...string) string {
	x := r.Text(name)
	if slices.Contains(valid, x) {
		return x
	}
	r.Problem("options."+name, "%s must be one of %s, not %q", name, strings.Join(valid, ", "), x)
	return r.defaults.Text(name, "")
}

// Trials returns the option trials of a tuner whose trials all have
// budget.trial_rounds rounds: at most as many as the budget pays for, which 0 stands
// for, and at most the given number. A budget that pays for none is a problem.
func (r *Reader) Trials(b tuners.Budget, most int) int {
	n := r.Whole("trials", 0, most)
	r.TrialRounds(b)
	if len(r.Problems) > 0 {
		return 0
	}
	switch fit := max(0, b.Rounds/b.TrialRounds); {
	case fit < 1:
		r.Problem("budget.rounds", "budget.rounds = %d is less than one trial of %d rounds (budget.trial_rounds)", b.Rounds, b.TrialRounds)
	case n > fit:
		r.Problem("options.trials", "%d trials of %d rounds exceed budget.rounds = %d; at most %d fit", n, b.TrialRounds, b.Rounds, fit)
	case n == 0:
		n = min(fit, most)
	}
	return n
}

// Choices checks dimensions of which there must be one, or missing is a problem, and that
// each is a choice.
func (r *Reader) Choices(dims tuners.Space, missing string) {
	if len(dims) == 0 {
		r.Problem("method", "%s", missing)
	}
	for _, d := range dims {
		if d.Kind != tuners.Choice {
			r.Problem("space."+d.Name, "%s supports only choices", r.name)
		}
	}
}

// Problem adds a problem with a key.
func (r *Reader) Problem(key, format string, args ...any) {
	r.bad[key] = true
	r.Problems = append(r.Problems, tuners.Problem{Key: key, Message: fmt.Sprintf(format, args...)})
}

// Open returns why a study session cannot be opened with problems, or for one
// trial; nil when it can.
func Open(name string, trial int, problems []tuners.Problem) error {
	if trial != tuners.StudySession {
		return fmt.Errorf("%s: %w: it is a tuner, not a client tuner", name, tuners.ErrUnsupported)
	}
	return First(name, problems)
}

// First returns the first of the problems as an error; nil without.
func First(name string, problems []tuners.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s: %s", name, problems[0].Key, problems[0].Message)
}

// About reads about.toml in the folder of a built-in tuner when it is first asked for. Options
// that a tuner shares with others come before its own.
func About(folder string, shared ...tuners.Option) func() tuners.Description {
	return sync.OnceValue(func() tuners.Description {
		var d tuners.Description
		read, err := toml.DecodeFS(tuner.About, folder+"/about.toml", &d)
		if unknown := read.Undecoded(); err != nil || len(unknown) > 0 {
			panic(fmt.Sprintf("%s/about.toml: %v %v", folder, err, unknown))
		}
		d.Options = slices.Concat(shared, d.Options)
		return d
	})
}

// Tuner is a built-in tuner: what it is, how it reads its options into a P, and how its
// sessions start.
type Tuner[P any] struct {
	// About says what it is, see About.
	About func() tuners.Description
	// Plan reads the options, and checks what else of a request matters.
	Plan func(*Reader, tuners.ValidateRequest) P
	// Study starts or continues a study's session; nil: one trial, drawn from the space.
	Study func(tuners.OpenRequest, P) (tuners.Session, error)
	// Trial starts or continues the sessions of a client tuner; nil for others.
	Trial func(tuners.OpenRequest, P) (tuners.Session, error)
}

// Describe says what the tuner is.
func (t Tuner[P]) Describe(context.Context) (tuners.Description, error) { return t.About(), nil }

// Validate returns what is wrong with the options, the space, the budget and the objective.
func (t Tuner[P]) Validate(_ context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	_, problems := t.Read(req)
	return problems, nil
}

// Read returns what the options come to, and what is wrong.
func (t Tuner[P]) Read(req tuners.ValidateRequest) (P, []tuners.Problem) {
	r := Read(t.About(), req.Options)
	p := t.Plan(r, req)
	return p, r.Problems
}

// Open starts or continues the session of a study or, for a client tuner, of one trial.
func (t Tuner[P]) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	p, problems := t.Read(tuners.ValidateRequest{Space: req.Space, Options: req.Options, Budget: req.Budget, Objective: req.Objective})
	open := First
	if t.Trial == nil {
		open = func(name string, problems []tuners.Problem) error { return Open(name, req.Trial, problems) }
	}
	switch err := open(t.About().Name, problems); {
	case err != nil:
		return nil, err
	case req.Trial != tuners.StudySession:
		return t.Trial(req, p)
	case t.Study == nil:
		return batch.Lone(t.About().Name, req)
	}
	return t.Study(req, p)
}
