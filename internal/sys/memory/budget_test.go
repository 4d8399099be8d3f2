package memory_test

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

// What is taken adds up, and no number is too large or too small to be refused.
func TestBudget(t *testing.T) {
	b := memory.NewBudget(1000)
	for _, n := range []int64{memory.Slack, memory.Ratio * 999, memory.Ratio} {
		if err := b.Take(n); err != nil {
			t.Fatal(err)
		}
	}
	want := "would become 67.4 MB in memory, but a file of 1 kB may become 67.4 MB at most"
	if err := b.Take(1); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	for _, n := range []int64{math.MaxInt64, -1, math.MinInt64} {
		if err := memory.NewBudget(1000).Take(n); err == nil || !strings.HasPrefix(err.Error(),
			"would become 9.22 EB in memory, but") {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
	for size, want := range map[int64]int64{
		-5: memory.Slack, 0: memory.Slack, 1 << 40: memory.Slack + memory.Ratio<<40,
		math.MaxInt64: math.MaxInt64,
	} {
		if got := memory.Most(size); got != want {
			t.Errorf("a file of %d bytes may become %d, want %d", size, got, want)
		}
	}
}
