package data

import "fmt"

// tally counts what a split left out or put together.
type tally struct {
	testOnly, testOnlySamples int // writers with test samples only
	small, smallSamples       int // clients with fewer than MinSamples
	capped, cappedSamples     int // clients above MaxSamples, samples cut off
	merged                    int // clients whose train and test samples became one list
	beyond                    int // clients after the first Clients
}

// notes returns one line for every count above 0.
func (t *tally) notes(c *Config, parts shares) []string {
	var lines []string
	note := func(n int, format string, args ...any) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	fate := "left out (data.unseen = true evaluates them as unseen clients)"
	if c.Unseen {
		fate = "returned as unseen clients"
	}
	note(t.testOnly, "%d clients have test samples only (%d samples): %s", t.testOnly, t.testOnlySamples, fate)
	note(t.small, "%d clients have too few samples (data.min_samples = %d, and one to train on; %d samples): left out", t.small, c.MinSamples, t.smallSamples)
	note(t.merged, "train and test samples of %d clients were merged, then cut %d/%d/%d", t.merged, parts.train, parts.val, parts.test)
	note(t.capped, "%d clients were capped at %d samples each (data.max_samples): %d samples left out", t.capped, c.MaxSamples, t.cappedSamples)
	note(t.beyond, "only the first %d clients are used (data.clients): %d left out", c.Clients, t.beyond)
	return lines
}

// nobody says why no client is left.
func (t *tally) nobody(c *Config) string {
	return fmt.Sprintf("no client is left to train on: %d have fewer than data.min_samples = %d samples, %d have test samples only", t.small, c.MinSamples, t.testOnly)
}
