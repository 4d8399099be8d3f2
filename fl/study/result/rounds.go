package result

import (
	"context"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/tuners"
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

// CurvePoint is what eval.every measured of a trial after a round: the global model, or
// the personalized ones.
type CurvePoint struct {
	// Round is how many rounds the trial had run, Examples how many training
	// samples its clients had processed in them.
	Round    int `json:"round"`
	Examples int `json:"examples"`
	// Clock is the simulated time in seconds, nil without a fleet.
	Clock *float64 `json:"clock,omitempty"`
	// TestError is the error on the clients' test samples.
	TestError float64 `json:"test_error"`
	// Epsilon is what the rounds have cost in privacy, of a run with dp.
	Epsilon *float64 `json:"epsilon,omitempty"`
	// ValError is that on their validation samples, measured for eval.patience.
	ValError *float64 `json:"val_error,omitempty"`
	// Unseen is the error on the test samples of clients that never train: the global
	// model's, or the adapted ones' where the curve belongs to models that clients train.
	Unseen *float64 `json:"unseen_test_error,omitempty"`
	// Masked are TestError without the labels of the federation's masks, by their
	// names; empty where it has none.
	Masked map[string]float64 `json:"masked_test_errors,omitempty"`
	// Params are what the client tuner had set for all clients of the round
	// alike; empty without one.
	Params tuners.Params `json:"params,omitempty"`
}

// Reached returns the first point of a curve at which the test accuracy is the
// goal or above; nil when there is none.
func Reached(curve []CurvePoint, goal float64) *CurvePoint {
	for i := range curve {
		if 1-curve[i].TestError >= goal {
			return &curve[i]
		}
	}
	return nil
}

// Stale returns the point of a curve with the lowest validation error, nil where none was
// measured, and whether as many measurements as patience have followed it: each without
// a lower one. A patience of 0 never ends.
func Stale(curve []CurvePoint, patience int) (best *CurvePoint, ended bool) {
	since := 0
	for i := range curve {
		p := &curve[i]
		if p.ValError == nil {
			continue
		}
		if since++; best == nil || *p.ValError < *best.ValError {
			best, since = p, 0
		}
	}
	return best, best != nil && patience > 0 && since >= patience
}

// Broke returns where a training broke down: the point of the best test accuracy, and
// the first one from which on it stays below half of that; nil when it did not. It is
// not for regressions, whose errors leave no accuracy.
func Broke(curve []CurvePoint) (best, from *CurvePoint) {
	for i := range curve {
		p := &curve[i]
		switch {
		case best == nil || 2*(1-p.TestError) >= 1-best.TestError:
			if from = nil; best == nil || p.TestError <= best.TestError {
				best = p
			}
		case from == nil:
			from = p
		}
	}
	if from == nil {
		return nil, nil
	}
	return best, from
}
