package trial

import (
	"errors"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// checkClients checks the clients of a step that was made elsewhere, which the schedule
// there has decided.
func (t *Trial) checkClients(clients []int) error {
	c, all := t.study.Meter.Config, len(t.study.Meter.Data.Clients)
	if n, most := len(clients), c.Updates(); n == 0 || n > most {
		return fmt.Errorf("%d clients in a step of at most %d", n, most)
	}
	for _, client := range clients {
		if client < 0 || client >= all {
			return fmt.Errorf("client %d of %d", client, all)
		}
	}
	return nil
}

// checkFleet checks what a step that was made elsewhere, after a number of others, tells of
// a fleet.
func (t *Trial) checkFleet(rec *record.Round, rounds int) error {
	f := rec.Fleet
	if (f == nil) != (t.study.Meter.Config.Devices() == nil) {
		return errors.New("only one of the study and the round has a fleet")
	}
	if f == nil {
		return nil
	}
	if f.Late < 0 || f.Vanished < 0 || f.Stale < 0 || f.Failed < 0 || len(f.Jobs) != len(rec.Clients)+f.Lost() {
		return fmt.Errorf("%d jobs for %d updates and %d that were lost", len(f.Jobs), len(rec.Clients), f.Lost())
	}
	if !(f.Clock >= 0 && f.Clock <= math.MaxFloat64) {
		return fmt.Errorf("a clock of %v simulated seconds", float64(f.Clock))
	}
	c, h := t.study.Meter.Config, t.Hyper()
	if f.Working < 0 || f.Working > h.Time.Working(c.Cohort) || f.Oldest < 0 || f.Oldest > rounds+1 {
		return fmt.Errorf("%d clients at work since round %d", f.Working, f.Oldest)
	}
	for i, j := range f.Jobs {
		ordered := j.Start >= 0 && j.Start <= j.Received && j.Received <= j.Computed && j.Computed <= j.End && j.End <= math.MaxFloat64
		if !ordered || j.Staleness < 0 || j.Staleness > rounds || j.Slot < 0 || j.Slot > len(t.study.Meter.Data.Clients)+c.Updates() || !(j.Weight >= 0 && j.Weight <= 1) || j.Client < 0 || j.Client >= len(t.study.Meter.Data.Clients) || i < len(rec.Clients) && j.Client != rec.Clients[i] {
			return fmt.Errorf("an impossible job of client %d", j.Client)
		}
	}
	return nil
}
