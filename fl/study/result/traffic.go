package result

import (
	"fmt"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

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
