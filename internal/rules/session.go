// Package rules describes which answers of a tuner a study can follow: decisions about
// trials, plans of rounds and descriptions. It is the one place that does, so that
// a wrong answer is refused with the same words by a study, by a check of the
// tuner, and in its tests.
package rules

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// Session is a session whose answers are checked before anyone acts on them or
// records them. Its errors about them name the tuner and wrap ErrBadAnswer.
type Session struct {
	tuners.Session
	about  tuners.Description
	space  tuners.Space
	probes []string
	book   *Book
}

var _ tuners.Prober = (*Session)(nil)

// Open opens a session of a tuner and checks its answers. A tuner that does that
// itself, as a launched one does, is not checked twice.
func Open(ctx context.Context, t tuners.Tuner, req tuners.OpenRequest) (*Session, error) {
	about, err := t.Describe(ctx)
	if err != nil {
		return nil, err
	}
	s, err := t.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	if checked, ok := s.(*Session); ok {
		return checked, nil
	}
	return Check(about, req, s)
}

// Check returns an open session with checked answers. The error is about the probes
// that it asks for.
func Check(about tuners.Description, req tuners.OpenRequest, s tuners.Session) (*Session, error) {
	c := &Session{Session: s, about: about, space: req.Space, probes: about.Probes, book: NewBook(about, req)}
	if p, ok := s.(tuners.Prober); ok {
		c.probes = p.Probes()
	}
	if len(c.probes) > maxNames {
		return nil, bad(about.Name, "Open", "%d probes: at most %d are allowed", len(c.probes), maxNames)
	}
	for _, p := range c.probes {
		if err := (text{"probe", p, maxName}).check(); err != nil {
			return nil, bad(about.Name, "Open", "%v", err)
		}
		name, _, _ := strings.Cut(p, "{") // a probe's options follow its name
		if !slices.Contains(about.Probes, name) {
			return nil, bad(about.Name, "Open", "probe %q is missing in its description", p)
		}
	}
	return c, nil
}

// Probes returns the probes that the session uses.
func (c *Session) Probes() []string { return c.probes }

// Suggest checks every decision against the trials that there are.
func (c *Session) Suggest(ctx context.Context, n int) ([]tuners.Decision, error) {
	decisions, err := c.Session.Suggest(ctx, n)
	if err == nil {
		err = c.book.Decide(decisions)
	}
	if err != nil {
		return nil, err
	}
	return decisions, nil
}

// Report passes a score on and pauses the trial.
func (c *Session) Report(ctx context.Context, r tuners.TrialReport) error {
	if err := c.Session.Report(ctx, r); err != nil {
		return err
	}
	c.book.Report(r)
	return nil
}

// RecallSuggest takes decisions into account that an earlier session made, which
// were checked then. A session that is opened from a state knows no trial before
// it: it is told every recorded call in its order, those by RecallSuggest and the
// reports by RecallReport.
func (c *Session) RecallSuggest(decisions []tuners.Decision) {
	for _, d := range decisions {
		_ = c.book.enter(d)
	}
	c.book.blind = false // from here on every trial is known
}

// RecallReport takes a report into account that an earlier session got.
func (c *Session) RecallReport(r tuners.TrialReport) { c.book.Report(r) }

// PlanRound checks the params of every slot.
func (c *Session) PlanRound(ctx context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	plan, err := c.Session.PlanRound(ctx, r)
	if err == nil {
		err = Plan(c.about, c.space, r, plan)
	}
	if err != nil {
		return tuners.Plan{}, err
	}
	return plan, nil
}

// ErrBadAnswer is wrapped by the errors about decisions and plans that no study can
// follow: an unknown trial, params outside of the space or not finite, a probe that
// does not exist.
var ErrBadAnswer = errors.New("bad answer")

// Named puts a tuner's name before an error of it, unless it has one already.
func Named(tuner string, err error) error {
	if errors.Is(err, ErrBadAnswer) || strings.HasPrefix(err.Error(), fmt.Sprintf("tuner %q: ", tuner)) {
		return err
	}
	return fmt.Errorf("tuner %s: %w", tuner, err)
}

// maxWords is how many characters of a tuner's own words an error quotes.
const maxWords = 300

// bad builds the error of an answer.
func bad(tuner, call, format string, args ...any) error {
	return fmt.Errorf("tuner %q: %w to %s: %s", tuner, ErrBadAnswer, call, tuners.Plain(fmt.Sprintf(format, args...), maxWords))
}

var roundWord = regexp.MustCompile(`\b(trial_)?round(s?)\b`)

// Unit returns a text about rounds, such as the message of a tuner, in the unit of a budget.
func Unit(b tuners.Budget, text string) string {
	if b.InRounds() {
		return text
	}
	return roundWord.ReplaceAllStringFunc(text, func(word string) string { return strings.Replace(word, "round", b.Unit(), 1) })
}
