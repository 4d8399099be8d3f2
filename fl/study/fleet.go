package study

import (
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
)

// addFleet takes in what a round tells of a fleet.
func (t *tally) addFleet(rec *record.Round, clients, small int) {
	f := rec.Fleet
	if t.fleet == nil { // else it may be that of a copy, whose clock goes on
		t.fleet = &result.Simulated{}
	}
	if t.updates == nil {
		t.updates = map[int]int{}
	}
	l := t.fleet
	l.Clients, l.Small, l.Clock = clients, small, float64(f.Clock)
	l.Updates += len(rec.Clients)
	l.Late += f.Late
	l.Vanished += f.Vanished
	l.Stale += f.Stale
	l.FailedRounds += f.Failed
	for _, j := range f.Jobs {
		if j.Fate != "" {
			l.Wasted += float64(j.End - j.Start)
			continue
		}
		l.Spent += float64(j.End - j.Start)
		l.Staleness += j.Staleness
		n := t.updates[j.Client]
		t.updates[j.Client] = n + 1
		t.squares += 2*n + 1
		l.MostUpdates = max(l.MostUpdates, n+1)
		if j.Partial {
			l.Partial++
		}
	}
	l.Contributed = len(t.updates)
	if t.squares > 0 {
		l.Fairness = float64(l.Updates) / float64(l.Clients) * float64(l.Updates) / float64(t.squares)
	}
}

// clockOf returns the simulated time after a round, nil without a fleet.
func clockOf(rec *record.Round) *float64 {
	if rec.Fleet == nil {
		return nil
	}
	return rec.Fleet.Clock.Pointer()
}
