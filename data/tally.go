package data

import (
	"fmt"
	"strings"
)

// tally counts what a split left out or put together.
type tally struct {
	testOnly, testOnlySamples int // writers with test samples only
	small, smallSamples       int // clients with fewer than MinSamples
	bare, bareSamples         int // clients whose samples the split gives no training example
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
	note(t.small, "%d clients have fewer than data.min_samples = %d samples (%d samples): left out", t.small, c.MinSamples,
		t.smallSamples)
	note(t.bare, "%d clients have too few samples for one to train on with data.split = %q (%d samples): left out", t.bare,
		c.Split, t.bareSamples)
	note(t.merged, "train and test samples of %d clients were merged, then cut %d/%d/%d", t.merged, parts.train, parts.val,
		parts.test)
	note(t.capped, "%d clients were capped at %d samples each (data.max_samples): %d samples left out", t.capped, c.MaxSamples, t.cappedSamples)
	note(t.beyond, "only the first %d clients are used (data.clients): %d left out", c.Clients, t.beyond)
	return lines
}

// nobody returns why no client is left, and what would be right.
func (t *tally) nobody(c *Config) string {
	var why []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			why = append(why, fmt.Sprintf("%d ", n)+fmt.Sprintf(format, args...))
		}
	}
	add(t.small, "have fewer samples than data.min_samples = %d", c.MinSamples)
	add(t.bare, "have too few samples for one to train on with data.split = %q", c.Split)
	add(t.testOnly, "have test samples only")
	if len(why) == 0 {
		return "there are no clients to train on"
	}
	remedy := ""
	switch {
	case t.bare > 0 && c.dealt():
		remedy = "; deal more samples to fewer clients (data.clients)"
	case t.small > 0 && c.dealt():
		remedy = "; lower it, or deal more samples to fewer clients (data.clients)"
	case t.bare > 0:
		remedy = "; give the training samples a larger share"
	case t.small > 0:
		remedy = "; lower it"
	}
	return "no client is left to train on: " + strings.Join(why, ", ") + remedy
}
