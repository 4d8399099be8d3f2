package result

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
