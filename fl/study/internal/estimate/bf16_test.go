package estimate

import (
	"math"
	"testing"
	"time"
)

// TestBF16Share times the loops on a clock of its own: a second for each sample.
func TestBF16Share(t *testing.T) {
	p := New()
	var clock time.Time
	p.now = func() time.Time {
		clock = clock.Add(time.Second)
		return clock
	}
	one := p.best(func(n int) int64 { return int64(n) })
	if one != 1<<10 {
		t.Errorf("%v operations a second, want %d", one, 1<<10)
	}
	if share := New().BF16Share(); !(share > 0) || math.IsInf(share, 0) {
		t.Errorf("bf16 does %v of the operations of float32", share)
	}
	p.now = func() time.Time { return clock }
	if share := p.BF16Share(); share != 0 {
		t.Errorf("on a clock that stands still: %v", share)
	}
}
