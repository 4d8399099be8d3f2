package cluster

import (
	"fmt"
	"time"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// vigil tracks how long trials have waited without any worker.
type vigil struct {
	first time.Duration // time before the first notice
	since time.Time     // zero if nothing waits
	next  time.Duration // when the next notice is due
}

func newVigil() vigil { return vigil{first: 5 * time.Second} }

// look reports that trials wait: soon, then less and less often. Workers join with the join
// file at a path.
func (v *vigil) look(waits bool, joined int, notice func(string), path string) {
	if !waits {
		v.since = time.Time{}
		return
	}
	if v.since.IsZero() {
		v.since, v.next = time.Now(), v.first
	}
	waited := time.Since(v.since)
	if waited < v.next {
		return
	}
	v.next = min(2*v.next, v.next+time.Hour)
	so := "none has joined yet"
	if joined > 0 {
		so = fmt.Sprintf("%d joined so far, none left", joined)
	}
	notice(fmt.Sprintf("no worker for %v (%s); add one with: fedfast worker --join %s", waited.Round(time.Second), so,
		oneline.Path(path)))
}
