package rules

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

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
