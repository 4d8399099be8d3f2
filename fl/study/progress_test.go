package study

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// progressLog keeps what a display is told, and stops the study after a round.
type progressLog struct {
	silent
	seen  []Progress
	after int // 0 for never
	stop  context.CancelFunc
}

func (l *progressLog) Progress(p Progress) {
	l.seen = append(l.seen, p)
	if p.Round == l.after {
		l.stop()
	}
}

// TestProgressTellsTrialsAndClients counts the trials that go on, and the clients
// of rounds that are trained, not of those that a resumed study reads.
func TestProgressTellsTrialsAndClients(t *testing.T) {
	dir := t.TempDir()
	work := func(after int) []Progress {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 3, to: 5})
		st := openStore(t, dir)
		defer func() { _ = st.Close() }()
		log := &progressLog{after: after, stop: stop}
		s.Workers, s.Store, s.Observer, s.SnapshotEvery = 1, st, log, time.Nanosecond
		if _, err := Tune(ctx, s); err != nil && (after == 0 || !errors.Is(err, context.Canceled)) {
			t.Fatal(err)
		}
		return log.seen
	}
	cohort := glyphStudy(t, nil).Config.Cohort
	for i, seen := range [][]Progress{work(4), work(0)} {
		var clients, left []int
		for _, p := range seen {
			if p.Trials != 3 {
				t.Errorf("round %d tells of %d trials", p.Round, p.Trials)
			}
			clients, left = append(clients, p.Clients), append(left, p.TrialsLeft)
		}
		wantClients, wantLeft := slices.Repeat([]int{cohort}, 4), slices.Repeat([]int{3}, 4)
		if i == 1 {
			wantClients = append(make([]int, 4), slices.Repeat([]int{cohort}, 7)...)
			wantLeft = append(slices.Repeat([]int{3}, 9), 1, 1)
		}
		if !slices.Equal(clients, wantClients) || !slices.Equal(left, wantLeft) {
			t.Errorf("rounds of %v clients and %v trials left, want %v and %v", clients, left, wantClients, wantLeft)
		}
	}
}
