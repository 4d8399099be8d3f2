package study

import (
	"testing"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/tuners"
)

// TestExpectedBytes has the bytes of a private trial tell nothing of who came.
func TestExpectedBytes(t *testing.T) {
	t.Parallel()
	aims := tuners.Aims{Objectives: []tuners.Objective{
		{Metric: tuners.MetricError},
		{Metric: tuners.MetricBytesUp},
		{Metric: tuners.MetricBytesDown},
	}}
	for _, cohorts := range [][]int{{3, 3, 3, 3}, {0, 2, 0, 5}, {9, 1, 1, 0}} {
		var w worth
		for _, n := range cohorts {
			rec := &record.Round{Clients: make([]int, n), Up: int64(10 * n), Down: int64(40 * n)}
			w.add(aims, 0.5, 0, w.expected(rec, 3))
		}
		if up, down := w.values[tuners.MetricBytesUp], w.values[tuners.MetricBytesDown]; up != 120 || down != 480 {
			t.Errorf("cohorts of %d clients send %v and receive %v bytes, want 120 and 480", cohorts, up, down)
		}
	}
}
