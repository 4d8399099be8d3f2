package cluster

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// ledger holds what workers have reported of rounds and of parts of them, to compare it with
// what others report, and what went wrong there.
type ledger struct {
	mu      sync.Mutex // guards what follows
	rounds  map[place]trained
	settled map[int]int // by trial: rounds whose state is here; they are not trained again

	disputes map[int]*dispute // by trial: a round that two workers disagree about

	lost       map[place][]string // names of the workers that were lost at a round
	lostShares map[share][]string
	unsent     map[int]int // consecutive failures of workers to send a trial
}

func newLedger() *ledger {
	return &ledger{
		rounds: map[place]trained{}, settled: map[int]int{},
		disputes: map[int]*dispute{},
		lost:     map[place][]string{}, lostShares: map[share][]string{}, unsent: map[int]int{},
	}
}

// place is the round of a trial that follows the given number of rounds.
type place struct{ trial, rounds int }

// String describes the round in errors.
func (p place) String() string { return fmt.Sprintf("trial %d, round %d", p.trial, p.rounds+1) }

// trained is who has trained a round, with the digest of its record.
type trained struct {
	sum    [32]byte
	worker *workerHandle
	due    bool // another worker has yet to report its measurements
}

// dispute are two results of a round that differ.
type dispute struct {
	at         place
	one, other trained
}

// disputed removes and returns the dispute about a round of a trial, nil for none.
func (l *ledger) disputed(trial int) *dispute {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.disputes[trial]
	delete(l.disputes, trial)
	return d
}

// judge compares a worker's result of a round with that of another worker. The first result
// is kept.
func (l *ledger) judge(s *workerHandle, t *wire.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.State != wire.StateRound || t.Record == nil {
		return
	}
	p, now := place{t.Trial, t.Rounds - 1}, trained{sum: bits(t), worker: s}
	then, known := l.rounds[p]
	switch {
	case known && then.sum != now.sum:
		l.disputes[t.Trial] = &dispute{p, then, now}
	case !known && p.rounds >= l.settled[p.trial]:
		l.rounds[p] = now
	}
}

// Error names both workers: which of them is wrong is unknown.
func (d *dispute) Error() string {
	return fmt.Sprintf("%s: workers %s and %s computed different bits, so one of the machines is faulty: %s, %s; "+
		"remove it and start the study again",
		d.at, d.one.worker.name, d.other.worker.name, d.one.worker.describe(), d.other.worker.describe())
}

// digest returns the digest of a task's result.
func digest(parts ...[]byte) [32]byte { return sha256.Sum256(bytes.Join(parts, nil)) }

// expect keeps the result of a round until the second worker reports it too.
func (l *ledger) expect(p place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, known := l.rounds[p]; known {
		r.due = true
		l.rounds[p] = r
	}
}

// settle forgets the results of a trial's rounds up to a state that is here. If the
// state is lost and they are trained again, they are compared with the journal.
func (l *ledger) settle(trial, rounds int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for at := l.settled[trial]; at < rounds; at++ {
		if p := (place{trial, at}); !l.rounds[p].due {
			delete(l.rounds, p)
			delete(l.lost, p)
		}
	}
	l.settled[trial] = max(l.settled[trial], rounds)
}

// forgetShares forgets who was lost with parts of a trial's rounds before a round.
func (l *ledger) forgetShares(trial, round int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.lostShares, func(at share, _ []string) bool { return at.trial == trial && at.rounds < round })
}

// maxLost is the number of workers that may be lost at one round. After that the round
// itself is likely to be the cause.
const maxLost = 3

// loses notes that a worker was lost while it carried out an order. It returns an error when
// too many were lost there.
func (l *ledger) loses(s *workerHandle) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var at fmt.Stringer
	var names []string
	switch {
	case s.lease == 0:
	case s.share != nil:
		l.lostShares[*s.share] = append(l.lostShares[*s.share], s.name)
		at, names = s.share, l.lostShares[*s.share]
	case s.busy:
		p := place{s.trial, s.rounds}
		l.lost[p] = append(l.lost[p], s.name)
		at, names = p, l.lost[p]
	}
	if len(names) < maxLost {
		return nil
	}
	return fmt.Errorf("%s: %d workers were lost while training it: %s; check why they ended, then resume the study",
		at, len(names), strings.Join(names, ", "))
}

// maxUnsent is how often in a row workers may drop a trial because they cannot fetch or
// send it.
const maxUnsent = 5

// sent notes whether a worker has sent a trial, and reports whether too many could not.
func (l *ledger) sent(trial int, ok bool) (tooMany bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok {
		delete(l.unsent, trial)
		return false
	}
	l.unsent[trial]++
	return l.unsent[trial] >= maxUnsent
}
