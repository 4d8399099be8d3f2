package rules

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/fedfast/fedfast/tuners"
)

// What a description may hold: more is no description. A name is one of a param, a
// probe or an option.
const (
	maxName    = 200
	maxVersion = 100
	maxDoc     = 4000
	maxNames   = 1000
)

// Description returns what is wrong with how the tuner of a name describes itself.
// The error wraps ErrBadAnswer.
func Description(name string, d tuners.Description) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrBadAnswer, fmt.Sprintf(format, args...))
	}
	if d.Name != name {
		return bad("its name is %q, want %q", tuners.Plain(d.Name, maxName), name)
	}
	if !d.Trials && !d.Rounds {
		return bad("serves neither trials nor rounds")
	}
	texts := []text{{"version", d.Version, maxVersion}, {"doc", d.Doc, maxDoc}}
	for _, o := range d.Options {
		if o.Name == "" || o.Default.Kind() == tuners.NoneValue {
			return bad("option %q has no name or no default", tuners.Plain(o.Name, maxName))
		}
		value, _ := o.Default.Text()
		texts = append(texts, text{"option", o.Name, maxName}, text{"default of an option", value, maxDoc}, text{"doc of an option", o.Doc, maxDoc})
	}
	for _, l := range []struct {
		what  string
		names []string
	}{{"control", d.Controls}, {"probe", d.Probes}, {"scalar", d.Scalars}, {"added dimension", dimNames(d.Adds)}} {
		if len(l.names) > maxNames {
			return bad("description with %d names of a %s: at most %d are allowed", len(l.names), l.what, maxNames)
		}
		for _, n := range l.names {
			texts = append(texts, text{l.what, n, maxName})
		}
	}
	if len(d.Options) > maxNames {
		return bad("description with %d options: at most %d are allowed", len(d.Options), maxNames)
	}
	for _, t := range texts {
		if err := t.check(); err != nil {
			return bad("%v", err)
		}
	}
	return nil
}

// text is a piece of a description.
type text struct {
	what, text string
	most       int // characters
}

// check describes what is wrong with the text: it would spoil a line of a terminal, or
// show something else than it says. Only docs and values have several lines.
func (t text) check() error {
	if n := utf8.RuneCountInString(t.text); n > t.most {
		return fmt.Errorf("its %s has %d characters, at most %d are allowed: %q", t.what, n, t.most, tuners.Plain(t.text, 40))
	}
	lines := t.most == maxDoc
	for _, r := range t.text {
		if inside := lines && (r == '\n' || r == '\t'); !inside && !unicode.IsGraphic(r) {
			return fmt.Errorf("its %s has the character %q, which cannot be printed: \"%s\"", t.what, r, tuners.Plain(t.text, 40))
		}
	}
	return nil
}

// dimNames returns the names of dimensions, and their choices that are texts.
func dimNames(dims []tuners.Dim) []string {
	var names []string
	for _, d := range dims {
		names = append(names, d.Name)
		for _, v := range d.Choices {
			if text, ok := v.Text(); ok {
				names = append(names, text)
			}
		}
	}
	return names
}

// ledger keeps how many rounds of a budget a tuner's decisions have asked for. A
// budget of 0 rounds, or of 0 rounds a trial, has no bound. The errors are one line
// that follows "decision 3, start: ".
type ledger struct {
	budget tuners.Budget
	rounds int // asked for, without those that were given back
	sides  int // trials on proxy federations
}

// send enters that a trial is to run from a round to another.
func (l *ledger) send(trial, from, to int) error {
	most := l.budget.TrialRounds
	switch {
	case to < 1 || most > 0 && to > most:
		return fmt.Errorf("trial %d to round %d: want a round in [1, %d] (budget.trial_rounds)", trial, to, most)
	case to <= from:
		return fmt.Errorf("trial %d to round %d: it has already run %d rounds", trial, to, from)
	case l.budget.Rounds > 0 && to-from > l.budget.Rounds-l.rounds:
		return fmt.Errorf("trial %d to round %d: the study would run %d rounds, more than budget.rounds = %d",
			trial, to, l.rounds+to-from, l.budget.Rounds)
	}
	l.rounds += to - from
	return nil
}

// giveBack gives rounds back that a trial was sent to run and did not: it failed,
// or it reached its goal.
func (l *ledger) giveBack(rounds int) { l.rounds -= max(rounds, 0) }

// side enters a trial on a proxy federation, which spends nothing of the budget.
func (l *ledger) side(d tuners.Decision) error {
	l.sides++
	switch {
	case l.sides > tuners.MaxSideTrials:
		return fmt.Errorf("trial %d on a proxy federation: at most %d are allowed", l.sides, tuners.MaxSideTrials)
	case d.ToRound < 1 || d.ToRound > tuners.MaxSideRounds:
		return fmt.Errorf("trial %d to round %d: want a round in [1, %d] on a proxy federation", d.Trial, d.ToRound, tuners.MaxSideRounds)
	case d.Environment.Clients > tuners.MaxSideClients:
		return fmt.Errorf("environment with %d clients: at most %d are allowed", d.Environment.Clients, tuners.MaxSideClients)
	}
	return nil
}
