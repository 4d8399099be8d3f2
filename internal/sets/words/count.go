package words

import (
	"bytes"
	"cmp"
	"slices"
)

// Counted bounds the different words that a Count has in memory.
const Counted = 2_000_000

// maxWord bounds the bytes of a word that is counted: longer ones are no words.
const maxWord = 64

// Count counts words in bounded memory: when there are too many different
// ones, those seen least are forgotten.
type Count struct {
	counts    map[string]int
	most      int // different words
	forgotten bool
}

// NewCount returns a count of no words.
func NewCount() *Count { return &Count{counts: map[string]int{}, most: Counted} }

// None says that no word was counted.
func (c *Count) None() bool { return len(c.counts) == 0 }

// Forgotten says that there were more than Counted different words.
func (c *Count) Forgotten() bool { return c.forgotten }

// Add counts the words of a sentence.
func (c *Count) Add(text []byte) {
	for word := range bytes.SplitSeq(text, []byte{' '}) {
		if len(word) == 0 || len(word) > maxWord {
			continue
		}
		if n, known := c.counts[string(word)]; known {
			c.counts[string(word)] = n + 1
			continue
		}
		if len(c.counts) == c.most {
			c.forget()
		}
		c.counts[string(word)] = 1
	}
}

// forget drops the words seen least, at least half of all.
func (c *Count) forget() {
	c.forgotten = true
	for limit := 1; len(c.counts) > c.most/2; limit *= 2 {
		for w, n := range c.counts {
			if n <= limit {
				delete(c.counts, w)
			}
		}
	}
}

// Frequent returns the n words counted most, of equal ones the first by bytes.
func (c *Count) Frequent(n int) []string {
	words := make([]string, 0, len(c.counts))
	for w := range c.counts {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), cmp.Compare(a, b))
	})
	return slices.Clone(words[:min(n, len(words))])
}
