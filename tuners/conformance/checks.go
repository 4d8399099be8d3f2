package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fedfast/fedfast/tuners"
	"github.com/fedfast/fedfast/tuners/host"
)

// check is one check. It returns what it measured, and what is wrong.
type check struct {
	name, about string
	needs       []string
	run         func(context.Context, *suite) (string, error)
}

// checks are all checks in their order.
var checks = []check{
	{"handshake", "starts, completes the go-plugin handshake, is healthy, and has the name of its file", nil, handshake},
	{"describe", "describes itself, with documented options and known probes, twice the same", []string{"handshake"}, describes},
	{"validate", "accepts a valid setup", []string{"describe"}, validates},
	{"options", "rejects unknown options, wrong types and non-finite numbers, naming the key", []string{"validate"}, badOptions},
	{"decisions", "completes studies within the space and the budget, with existing trials", []string{"validate"}, decides},
	{"determinism", "makes the same decisions in another process", []string{"decisions"}, deterministic},
	{"sessions", "keeps sessions of a process independent", []string{"determinism"}, sessions},
	{"state", "resumes from its state after every call", []string{"determinism"}, reopened},
	{"crash", "makes the same decisions when killed before or during calls", []string{"state"}, killed},
	{"hang", "makes the same decisions when its process hangs and is replaced", []string{"state"}, stopped},
	{"failures", "handles failed trials", []string{"decisions"}, failures},
	{"long", "runs 10,000 trials, or rounds as a client tuner, with a bounded state", []string{"decisions"}, long},
	{"latency", "responds fast enough", []string{"decisions"}, latency},
	{"stdout", "prints nothing to stdout, which is reserved for the handshake", []string{"decisions"}, stdout},
	{"orphan", "exits when its host is gone", []string{"handshake"}, orphan},
}

// handshake starts the tuner once.
func handshake(ctx context.Context, s *suite) (string, error) {
	begin := time.Now()
	p, err := s.launch(ctx, s.o.Timeout, s.o.Logger)
	if err != nil {
		return "", err
	}
	defer s.end(p)
	ready := time.Since(begin)
	if s.about, err = p.Describe(ctx); err != nil {
		return "", err
	}
	s.report.Version = s.about.Version
	how := "with mutual TLS"
	if !p.Secure() {
		how = "without TLS, through a socket accessible only to this user"
	}
	return fmt.Sprintf("ready after %s, %s", round(ready), how), p.Ping(ctx)
}

// describes looks at the description.
func describes(ctx context.Context, s *suite) (string, error) {
	d := s.about
	texts := map[string]string{"version": d.Version, "doc": d.Doc}
	for _, o := range d.Options {
		texts["doc of the option "+o.Name] = o.Doc
	}
	for what, text := range texts {
		if text == "" {
			return "", fmt.Errorf("%s is missing", what)
		}
		if strings.ContainsFunc(text, unicode.IsControl) {
			return "", fmt.Errorf("%s contains control characters or several lines: %q", what, text)
		}
	}
	seen := map[string]bool{}
	for _, o := range d.Options {
		if seen[o.Name] {
			return "", fmt.Errorf("option %s is defined twice", o.Name)
		}
		seen[o.Name] = true
	}
	if d.Rounds && len(d.Controls) == 0 {
		return "", errors.New("a client tuner must control at least one param")
	}
	if s.o.Probes != nil {
		if err := s.o.Probes(slices.Concat(d.Probes, d.Scalars)...); err != nil {
			return "", fmt.Errorf("no study provides what the tuner requests: %w", err)
		}
	}
	return "", s.with(ctx, func(p *host.Plugin) error {
		again, err := p.Describe(ctx)
		if err == nil && fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", d) {
			err = fmt.Errorf("another process gives a different description: %+v, before %+v", again, d)
		}
		return err
	})
}

// budgets are tried until the tuner accepts one, the most useful first.
var budgets = []tuners.Budget{
	{Rounds: 30 * 27, TrialRounds: 27},
	{Rounds: 10 * 27, TrialRounds: 27},
	{Rounds: 27, TrialRounds: 27},
	{Rounds: 100 * 100, TrialRounds: 100},
	{Rounds: 30, TrialRounds: 1},
}

// architectures are what the choices of a small supernet join a space as.
var architectures = []tuners.Dim{
	{Name: tuners.ArchPrefix + "depth", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(1), tuners.Num(2)}},
	{Name: tuners.ArchPrefix + "width", Kind: tuners.Choice, Choices: []tuners.Value{tuners.Num(8), tuners.Num(16), tuners.Num(24)}},
}

// joined returns a space with what a tuner adds to it, and, for a client tuner that picks
// sub-networks, with architectures.
func joined(space tuners.Space, about tuners.Description) (tuners.Space, error) {
	space, err := space.With(about.Adds...)
	if err != nil || !about.Architectures || !about.Rounds {
		return space, err
	}
	return space.With(architectures...)
}

// setup is a set-up of a study with a budget.
func (s *suite) setup(b tuners.Budget) (tuners.ValidateRequest, error) {
	space, err := joined(Bowl().Space(), s.about)
	return tuners.ValidateRequest{Space: space, Options: s.o.Options, Budget: b}, err
}

// validates looks for a budget that the tuner accepts.
func validates(ctx context.Context, s *suite) (string, error) {
	return "", s.with(ctx, func(p *host.Plugin) error {
		var first []tuners.Problem
		for _, b := range budgets {
			req, err := s.setup(b)
			if err != nil {
				return err
			}
			problems, err := p.Validate(ctx, req)
			if err != nil {
				return err
			}
			if len(problems) == 0 {
				s.budget = b
				return nil
			}
			if first == nil {
				first = problems
			}
		}
		return fmt.Errorf("rejects every setup tried, the first because of %s: %s", first[0].Key, first[0].Message)
	})
}

// badOptions sends options that are wrong.
func badOptions(ctx context.Context, s *suite) (string, error) {
	bad := map[string]tuners.Value{"no-such-option": tuners.Num(1)}
	for _, o := range s.about.Options {
		if o.Default.Kind() == tuners.StrValue {
			bad[o.Name] = tuners.Num(1)
		} else {
			bad[o.Name] = tuners.Str("rubbish")
		}
	}
	tried := 0
	return "", s.with(ctx, func(p *host.Plugin) error {
		refuses := func(name string, v tuners.Value) error {
			tried++
			req, err := s.setup(s.budget)
			if err != nil {
				return err
			}
			req.Options = req.Options.Merge(tuners.Params{name: v})
			problems, err := p.Validate(ctx, req)
			if err != nil {
				return fmt.Errorf("Validate fails for option %s = %s instead of returning a problem: %w", name, v, err)
			}
			if !slices.ContainsFunc(problems, func(p tuners.Problem) bool { return p.Key == "options."+name && p.Message != "" }) {
				return fmt.Errorf("accepts option %s = %s; Validate must return a problem with the key options.%s", name, v, name)
			}
			return nil
		}
		for _, name := range tuners.Params(bad).Keys() {
			if err := refuses(name, bad[name]); err != nil {
				return err
			}
		}
		for _, o := range s.about.Options {
			if o.Default.Kind() == tuners.NumValue {
				if err := refuses(o.Name, tuners.Num(math.NaN())); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// decides plays the studies undisturbed and keeps what was said.
func decides(ctx context.Context, s *suite) (string, error) {
	var texts []string
	err := s.with(ctx, func(p *host.Plugin) error {
		for _, study := range s.studies() {
			study.Timed = func(d time.Duration) {
				s.times = append(s.times, d)
				s.slowest = max(s.slowest, d)
			}
			out, err := s.play(ctx, study, p)
			if err != nil {
				return err
			}
			s.want = append(s.want, out)
			texts = append(texts, fmt.Sprintf("%d trials in %d rounds", len(out.Trials), out.Rounds))
		}
		return restarted(p, 0)
	})
	return strings.Join(texts, ", "), err
}

// restarted makes sure that a process was lost no more often than wanted.
func restarted(p *host.Plugin, most int) error {
	if n := p.Restarts(); n > most {
		return fmt.Errorf("process exited unexpectedly %d times", n-most)
	}
	return nil
}

// round cuts a duration to what a person reads.
func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}
