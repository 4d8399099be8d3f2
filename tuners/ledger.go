package tuners

import "fmt"

// What a tuner may ask for in one answer, and of side federations in all. A study of more trials takes several answers.
const (
	MaxDecisions   = 10_000
	MaxSideTrials  = 100_000
	MaxSideRounds  = 1_000_000 // of one trial
	MaxSideClients = 1_000_000
)

// Ledger keeps how many rounds of a budget a tuner's decisions have asked for. The host holds answers against it before they are recorded,
// a study before it acts on them. A budget of 0 rounds, or of 0 rounds a trial, has no bound. The errors are one line that follows
// "decision to start trial 3: ".
type Ledger struct {
	Budget Budget
	rounds int // asked for, without those that were given back
	sides  int // trials on side federations
}

// Answer checks how many decisions one answer holds.
func (l *Ledger) Answer(decisions int) error {
	if decisions > MaxDecisions {
		return fmt.Errorf("its answer has %d decisions; one may have at most %d, the others follow when they have been acted on", decisions, MaxDecisions)
	}
	return nil
}

// Send enters that a trial is to run from a round to another.
func (l *Ledger) Send(trial, from, to int) error {
	most := l.Budget.TrialRounds
	switch {
	case to < 1 || most > 0 && to > most:
		return fmt.Errorf("trial %d is sent to round %d; a trial has rounds 1 to %d (budget.trial_rounds)", trial, to, most)
	case to <= from:
		return fmt.Errorf("trial %d is sent to round %d, but it has run %d rounds already", trial, to, from)
	case l.Budget.Rounds > 0 && to-from > l.Budget.Rounds-l.rounds:
		return fmt.Errorf("trial %d is sent to round %d, with which the study would run %d rounds; it has %d (budget.rounds)",
			trial, to, l.rounds+to-from, l.Budget.Rounds)
	}
	l.rounds += to - from
	return nil
}

// Return gives rounds back that a trial was sent to run and did not: it failed, or it reached its goal.
func (l *Ledger) Return(rounds int) { l.rounds -= max(rounds, 0) }

// Side enters a trial on a side federation, which spends nothing of the budget.
func (l *Ledger) Side(d Decision) error {
	l.sides++
	switch {
	case l.sides > MaxSideTrials:
		return fmt.Errorf("it is trial %d on a side federation; there are at most %d", l.sides, MaxSideTrials)
	case d.ToRound < 1 || d.ToRound > MaxSideRounds:
		return fmt.Errorf("trial %d is sent to round %d; on a side federation a trial has rounds 1 to %d", d.Trial, d.ToRound, MaxSideRounds)
	case d.Environment.Clients > MaxSideClients:
		return fmt.Errorf("its environment has %d clients; there are at most %d", d.Environment.Clients, MaxSideClients)
	}
	return nil
}
