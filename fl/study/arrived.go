package study

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
)

// arrived checks the record of a round that was run elsewhere: it must be one that this
// study can have of that round, with the clients that it drew and the probes that the
// client tuner observes. Its numbers are believed.
func (t *trial) arrived(rec *roundRecord, rounds int, observed []string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("invalid record of trial %d, round %d from a worker: %s", t.number, rounds+1, fmt.Sprintf(format, args...))
	}
	n := len(rec.Clients)
	if !slices.Equal(rec.Clients, t.driver.engine.Cohort(t.number, rounds)) {
		return wrong("other clients than those of the round")
	}
	last := -1
	for _, slot := range rec.DroppedSlots {
		if slot <= last || slot >= n {
			return wrong("slot %d of %d cannot have been dropped", slot, n)
		}
		last = slot
	}
	if rec.Dropped != len(rec.DroppedSlots) {
		return wrong("%d dropped clients, but %d slots", rec.Dropped, len(rec.DroppedSlots))
	}
	for _, count := range []int{rec.Steps, rec.Examples} {
		if count < 0 || count > shard.MostCount {
			return wrong("%d steps or examples", count)
		}
	}
	if math.IsInf(float64(rec.Score), 0) || rec.Other != nil && math.IsInf(float64(*rec.Other), 0) {
		return wrong("its score is infinite")
	}
	if rec.Seconds != nil && !(*rec.Seconds >= 0 && *rec.Seconds <= math.MaxFloat64) {
		return wrong("%v simulated seconds", float64(*rec.Seconds))
	}
	if rec.Params != nil {
		return wrong("hyperparameters are set")
	}
	for name, values := range rec.Probes {
		if len(values) != n || !slices.Contains(observed, name) {
			return wrong("%d values of the probe %.40q for %d clients", len(values), name, n)
		}
	}
	for name := range rec.Aggregates {
		if !slices.Contains(observed, name) {
			return wrong("probe %.40q was not requested", name)
		}
	}
	for name := range rec.Masked {
		if !slices.ContainsFunc(t.driver.setup.Data.Masks, func(m data.Mask) bool { return m.Name == name }) {
			return wrong("unknown mask %.40q", name)
		}
	}
	return nil
}

// brought checks the model that a trial has kept and its state, as far as they were
// fetched from elsewhere, against the number of rounds that the trial has run.
func (t *trial) brought(model, state *fl.Snapshot, rounds int) error {
	for _, s := range []*fl.Snapshot{model, state} {
		if s == nil {
			continue
		}
		if err := t.driver.engine.CheckSnapshot(s); err != nil {
			return err
		}
		if s.Number != t.number || s.Round > rounds || s == state && s.Round != rounds {
			return fmt.Errorf("a worker sent trial %d after %d rounds, want trial %d after %d", s.Number, s.Round, t.number, rounds)
		}
	}
	return nil
}
