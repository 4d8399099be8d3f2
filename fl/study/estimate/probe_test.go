package estimate

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// fake is a probe whose step of n examples takes overhead + n * each on a clock of
// its own.
type fake struct {
	*Probe
	clock    time.Time
	steps    int   // of all sizes
	batches  []int // that were set up
	overhead time.Duration
	each     time.Duration
}

func newFake(overhead, each time.Duration) *fake {
	f := &fake{Probe: New(), overhead: overhead, each: each}
	f.now = func() time.Time { return f.clock }
	f.step = func(_ *nn.Model, n int, _ nn.Optimizer) func() {
		f.batches = append(f.batches, n)
		return func() {
			f.steps++
			f.clock = f.clock.Add(f.overhead + time.Duration(n)*f.each)
		}
	}
	return f
}

func logistic(t *testing.T) *nn.Model {
	t.Helper()
	m, err := models.New("logistic", models.Options{Classes: 10, Input: nn.Shape{H: 1, W: 1, C: 20}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

func TestThroughput(t *testing.T) {
	m := logistic(t)
	f := newFake(time.Millisecond, 250*time.Microsecond)
	rate, err := f.Throughput(t.Context(), m, 8, nn.Optimizer{})
	if want := 8 / 0.003; err != nil || !near(rate, want) {
		t.Errorf("%v examples a second, %v; a step of 8 takes 3 ms: want %v", rate, err, want)
	}
	if spent := f.clock.Sub(time.Time{}); spent < Fine || spent > Fine+10*time.Millisecond {
		t.Errorf("it took %v", spent)
	}
	before := f.steps
	for _, opt := range []nn.Optimizer{{}, {SGD: nn.SGD{LR: 0.3}}} {
		if again, err := f.Throughput(t.Context(), m, 8, opt); err != nil || again != rate {
			t.Errorf("again: %v, %v", again, err)
		}
	}
	if f.steps != before {
		t.Errorf("a known throughput was measured by %d more steps", f.steps-before)
	}
	for _, opt := range []nn.Optimizer{
		{SGD: nn.SGD{Momentum: 0.5}}, {SGD: nn.SGD{WeightDecay: 0.1}}, {SGD: nn.SGD{Mu: 1}}, {SGD: nn.SGD{ClipNorm: 1}}, {Adam: nn.Adam{On: true}},
	} {
		if _, err := f.Throughput(t.Context(), m, 8, opt); err != nil || f.steps == before {
			t.Errorf("%+v was not measured, %v", opt, err)
		}
		before = f.steps
	}
}

func TestThroughputOfALargeModelTakesASmallBatch(t *testing.T) {
	f := newFake(0, 60*time.Millisecond)
	rate, err := f.Throughput(t.Context(), logistic(t), 256, nn.Optimizer{})
	if err != nil || !near(rate, 1/0.06) {
		t.Errorf("%v examples a second, %v", rate, err)
	}
	if spent := f.clock.Sub(time.Time{}); spent > 2*Fine {
		t.Errorf("batches of %v took %v, for 256 of 60 ms an example", f.batches, spent)
	}
}

func TestThroughputEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Throughput(ctx, logistic(t), 4, nn.Optimizer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestRealSteps measures a small model for as short as can be.
func TestRealSteps(t *testing.T) {
	p := New()
	for _, opt := range []nn.Optimizer{{}, {SGD: nn.SGD{Momentum: 0.9, WeightDecay: 0.1, Mu: 0.1}}, {SGD: nn.SGD{ClipNorm: 1}, Adam: nn.Adam{On: true}}} {
		rate, err := p.throughput(t.Context(), subjectOf(logistic(t), 4, opt), time.Millisecond)
		if err != nil || !(rate > 1000 && rate < 1e10) {
			t.Errorf("%+v: %v examples a second, %v", opt, rate, err)
		}
	}
}
