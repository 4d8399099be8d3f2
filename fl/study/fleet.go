package study

import "github.com/fedfast/fedfast/fl/study/internal/record"

// Simulated is the simulated time of a trial on a fleet, with the work that came to nothing.
type Simulated struct {
	// Clock is the simulated time, in seconds.
	Clock float64 `json:"clock"`
	// Updates counts the clients' jobs whose updates were taken.
	Updates int `json:"updates"`
	// Late counts those that had not arrived when their round ended, Vanished those whose
	// client failed or went away, Stale those that began too many steps before.
	Late     int `json:"late"`
	Vanished int `json:"vanished"`
	Stale    int `json:"stale"`
	// Partial counts the updates that were taken of clients that did fewer local steps.
	Partial int `json:"partial"`
	// FailedRounds had too few updates and were repeated.
	FailedRounds int `json:"failed_rounds"`
	// Spent are the simulated seconds that clients worked on updates that were taken,
	// Wasted those on others; Staleness is the sum of the stalenesses of the former.
	Spent     float64 `json:"spent_seconds"`
	Wasted    float64 `json:"wasted_seconds"`
	Staleness int     `json:"staleness"`
	// Contributed counts the clients, of all Clients, of which an update was taken, and
	// MostUpdates those of the client with the most.
	Clients     int `json:"clients"`
	Contributed int `json:"contributed"`
	MostUpdates int `json:"most_updates"`
	// Small counts the clients that never took part, since their devices have too little
	// memory for their local training.
	Small int `json:"small"`
	// Fairness is Jain's index of the numbers of updates of all clients: 1 if all contribute
	// equally, 1 / Clients if only one does.
	Fairness float64 `json:"fairness"`
}

// Lost counts the jobs whose work was lost.
func (l *Simulated) Lost() int { return l.Late + l.Vanished + l.Stale }

// addFleet takes in what a round tells of a fleet.
func (t *tally) addFleet(rec *record.Round, clients, small int) {
	f := rec.Fleet
	if f == nil {
		return
	}
	if t.fleet == nil { // else it may be that of a copy, whose clock goes on
		t.fleet = &Simulated{}
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
