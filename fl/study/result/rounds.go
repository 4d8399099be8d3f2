package result

import (
	"context"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// RoundRow is a recorded round of a trial.
type RoundRow struct {
	Trial int
	// Round is how many rounds the trial had run.
	Round int
	// At is when it ended; Since is when it began, as far as that is recorded: it
	// is not for the first round after a decision, nor for rounds that were
	// shared with another study, whose Since is the zero time.
	At, Since time.Time
	Measured
}

// Rounds calls f for every recorded round in the order of the record, until it
// returns an error.
func Rounds(ctx context.Context, s store.Reader, f func(RoundRow) error) error {
	began := false
	at := map[int]time.Time{} // when a trial's newest round ended or its plan was made
	return s.Each(ctx, func(r store.Row) error {
		when := time.UnixMilli(r.At)
		switch r.Kind {
		case store.KindSession:
			began = true
			clear(at)
			return nil
		case store.KindRung:
			delete(at, r.Trial)
			return nil
		case store.KindPlan:
			at[r.Trial] = when
			return nil
		}
		rec, err := record.Decode[record.Round](r.Kind, r.Data)
		if err != nil {
			return err
		}
		row := RoundRow{Trial: r.Trial, Round: r.Round, At: when, Measured: *measuredOf(rec)}
		if began {
			row.Since = at[r.Trial]
		}
		at[r.Trial] = when
		return f(row)
	}, store.KindSession, store.KindPlan, store.KindRound, store.KindRung)
}

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

// Traffic is what clients and the server sent one another in the rounds of a training.
type Traffic struct {
	// Down and Up are the bytes that clients received and sent. Plain is what they would
	// have sent without compression: as many as they received.
	Down  int64 `json:"bytes_down"`
	Up    int64 `json:"bytes_up"`
	Plain int64 `json:"bytes_up_plain"`
	// Attack and Aggregator are update.attack, empty for none, and aggregator.name; Attacks
	// counts the updates of attackers, of Updates.
	Attack     string `json:"attack,omitempty"`
	Aggregator string `json:"aggregator"`
	Attacks    int    `json:"attacks,omitempty"`
	Updates    int    `json:"updates"`
}

// Plainly reports whether updates reached the server as they were, for their mean.
func (t *Traffic) Plainly() bool {
	return t.Up == t.Plain && t.Attack == "" && t.Aggregator == fl.DefaultAggregation().Name
}

// Sums writes in a line how much was sent.
func (t *Traffic) Sums() string {
	return fmt.Sprintf("clients received %s and sent %s", memory.Size(t.Down), memory.Size(t.Up))
}

// Describe writes in a line what happened to the updates.
func (t *Traffic) Describe() string {
	text := fmt.Sprintf("clients sent %s instead of %s", memory.Size(t.Up), memory.Size(t.Plain))
	if t.Up == t.Plain {
		text = "clients sent " + memory.Size(t.Up)
	} else if t.Up > 0 {
		text += fmt.Sprintf(", 1/%.3g", float64(t.Plain)/float64(t.Up))
	}
	if t.Attack != "" {
		text += fmt.Sprintf("; %d of %d updates are of attackers (%s)", t.Attacks, t.Updates, t.Attack)
	}
	return text + "; combined by " + t.Aggregator
}
