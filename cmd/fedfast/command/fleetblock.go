package command

import (
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// fleet adds how long a training took in simulated time, and what of the clients' work
// was lost, if their devices are simulated.
func (b *block) fleet(f *result.Simulated, rounds int) {
	if f == nil || rounds == 0 {
		return
	}
	b.Row("simulated time", fmt.Sprintf("%s, %s per round", view.Simulated(f.Clock), view.Simulated(f.Clock/float64(rounds))))
	text := oneline.Count(f.Updates, "update")
	if f.Partial > 0 {
		text += fmt.Sprintf(", %d of them with fewer local steps", f.Partial)
	}
	if f.Staleness > 0 {
		text += fmt.Sprintf(" with a mean staleness of %.1f rounds", float64(f.Staleness)/float64(f.Updates))
	}
	if n := f.Lost(); n > 0 {
		text += fmt.Sprintf("; %s lost (%s), %.0f %% of the clients' time", oneline.Digits(n), lostWork(f), 100*f.Wasted/(f.Spent+f.Wasted))
	} else {
		text += "; none lost"
	}
	b.Row("client updates", text)
	part := fmt.Sprintf("%s of %s contributed, with %d updates at most; fairness %.2f (Jain's index)", oneline.Digits(f.Contributed), oneline.Count(f.Clients, "client"), f.MostUpdates, f.Fairness)
	if f.Small > 0 {
		part += fmt.Sprintf("; %s too little memory", oneline.Digits(f.Small)+have(f.Small))
	}
	b.Row("participation", part)
	if f.FailedRounds > 0 {
		b.Row("failed rounds", oneline.Digits(f.FailedRounds)+" with too few updates, repeated with other clients")
	}
}

// have is the verb of a number of clients.
func have(n int) string {
	if n == 1 {
		return " has"
	}
	return " have"
}

// lostWork tells why the work of clients was lost.
func lostWork(f *result.Simulated) string {
	var parts []string
	for _, of := range []struct {
		n   int
		why string
	}{{f.Late, "late"}, {f.Vanished, "vanished"}, {f.Stale, "too stale"}} {
		if of.n > 0 {
			parts = append(parts, oneline.Digits(of.n)+" "+of.why)
		}
	}
	return strings.Join(parts, ", ")
}
