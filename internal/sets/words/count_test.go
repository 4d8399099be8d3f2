package words

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWordCountForgets(t *testing.T) {
	c := &Count{counts: map[string]int{}, most: 100}
	for i := range 10_000 {
		c.Add(fmt.Appendf(nil, "often w%d %s", i, strings.Repeat("x", maxWord+1)))
		if len(c.counts) > 100 {
			t.Fatalf("%d words are kept", len(c.counts))
		}
	}
	if words := c.Frequent(1); !slices.Equal(words, []string{"often"}) || !c.Forgotten() || c.counts["often"] != 10_000 {
		t.Errorf("most frequent are %q, counted %d", words, c.counts["often"])
	}
}
