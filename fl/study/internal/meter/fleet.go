package meter

import (
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// fleetOf records what became of the clients' work, nil without a fleet.
func fleetOf(r *fl.RoundResult) *record.Fleet {
	if math.IsNaN(r.End) {
		return nil
	}
	f := &record.Fleet{Clock: record.Real(r.End), Failed: r.Failed, Working: r.Working, Oldest: r.Oldest}
	for i := range r.Slots {
		j := jobOf(&r.Slots[i].Job)
		if w := r.Slots[i].Weight; w != 1 {
			j.Weight = record.Real(w)
		}
		f.Jobs = append(f.Jobs, j)
	}
	for i := range r.Lost {
		j := jobOf(&r.Lost[i])
		switch r.Lost[i].Fate {
		case clock.Late:
			f.Late, j.Fate = f.Late+1, "late"
		case clock.Failed:
			f.Vanished, j.Fate = f.Vanished+1, "vanished"
		default:
			f.Stale, j.Fate = f.Stale+1, "stale"
		}
		f.Jobs = append(f.Jobs, j)
	}
	return f
}

// jobOf records a job.
func jobOf(j *clock.Job) record.Job {
	s := func(ns int64) record.Real { return record.Real(float64(ns) / 1e9) }
	return record.Job{Client: j.Client, Start: s(j.Start), Received: s(j.Received), Computed: s(j.Computed), End: s(j.End), Staleness: j.Staleness, Slot: j.Slot, Partial: j.Steps > 0}
}
