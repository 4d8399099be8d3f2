package data

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/kernels/det"
)

// Summary holds the facts of an open federation.
type Summary struct {
	Clients, Unseen  int
	Train, Val, Test Sizes // of Clients
	All              Sizes // of Clients, the three together
	UnseenTest       Sizes
	Central          int // examples of the test set that is of no client
	// Classes is the number of classes that any client's samples have. It and the
	// entropies are 0 for a Lazy federation that is read from a file: they would need all
	// of it.
	Classes int
	// Entropy is the entropy of the classes of all clients' samples together, in nats;
	// MeanEntropy the mean over clients of the entropy of the own ones. The
	// nearer the two, the more alike the clients.
	Entropy, MeanEntropy float64
}

// Sizes tells how many examples clients have.
type Sizes struct {
	Total  int `json:"total"`
	Min    int `json:"min"`
	Median int `json:"median"`
	Max    int `json:"max"`
}

// Count counts the clients of a federation and their examples, and leaves out what
// needs the examples themselves.
func Count(fed *Federation) Summary {
	return Summary{
		Clients:    len(fed.Clients),
		Unseen:     len(fed.Unseen),
		Train:      sizes(fed.Clients, func(c *Client) int { return c.Train.Len() }),
		Val:        sizes(fed.Clients, func(c *Client) int { return c.Val.Len() }),
		Test:       sizes(fed.Clients, func(c *Client) int { return c.Test.Len() }),
		All:        sizes(fed.Clients, func(c *Client) int { return c.Train.Len() + c.Val.Len() + c.Test.Len() }),
		UnseenTest: sizes(fed.Unseen, func(c *Client) int { return c.Test.Len() }),
		Central:    fed.Test.Len(),
	}
}

// Summarize counts what a federation holds. The error is as in View.Fill.
func Summarize(fed *Federation) (Summary, error) {
	s := Count(fed)
	if fed.Lazy && !fed.Synthetic {
		return s, nil
	}
	pooled := make([]int, fed.Classes)
	for i := range fed.Clients {
		c := &fed.Clients[i]
		own := make([]int, fed.Classes)
		for _, v := range []View{c.Train, c.Val, c.Test} {
			counts, err := v.ClassCounts(fed.Classes)
			if err != nil {
				return Summary{}, err
			}
			for class, n := range counts {
				own[class] += n
				pooled[class] += n
			}
		}
		s.MeanEntropy += entropy(own) / float64(len(fed.Clients))
	}
	s.Entropy = entropy(pooled)
	for _, n := range pooled {
		if n > 0 {
			s.Classes++
		}
	}
	return s, nil
}

// ClassSpreads returns how many samples of each class there are: of all clients, and of those with fewest and most. The
// error is as in View.Fill.
func ClassSpreads(fed *Federation) ([]Spread, error) {
	spreads := make([]Spread, fed.Classes)
	for i := range fed.Clients {
		c := &fed.Clients[i]
		counts, err := c.Train.join(c.Val).join(c.Test).ClassCounts(fed.Classes)
		if err != nil {
			return nil, err
		}
		for class, n := range counts {
			spreads[class].add(float64(n), i == 0)
			spreads[class].All += float64(n)
		}
	}
	for class := range spreads {
		if spreads[class].Name = strconv.Itoa(class); len(fed.ClassNames) > 0 {
			spreads[class].Name = fed.ClassNames[class]
		}
	}
	return spreads, nil
}

// sizes returns the sizes of clients by one measure; the median of an even
// number of clients is the upper one.
func sizes(clients []Client, size func(*Client) int) Sizes {
	if len(clients) == 0 {
		return Sizes{}
	}
	all := make([]int, len(clients))
	total := 0
	for i := range clients {
		all[i] = size(&clients[i])
		total += all[i]
	}
	slices.Sort(all)
	return Sizes{Total: total, Min: all[0], Median: all[len(all)/2], Max: all[len(all)-1]}
}

// entropy returns that of counts in nats; 0 of no counts.
func entropy(counts []int) float64 {
	var total, sum float64
	for _, n := range counts {
		total += float64(n)
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / total
			sum -= float64(p * det.Log(p))
		}
	}
	return sum
}

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
