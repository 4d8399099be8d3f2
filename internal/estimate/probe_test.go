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

// fake is a probe whose steps on n examples in all take overhead + n * each on a clock of
// its own.
type fake struct {
	*Probe
	clock    time.Time
	taken    int   // steps of all sizes
	batches  []int // that were set up
	overhead time.Duration
	each     time.Duration
}

func newFake(overhead, each time.Duration) *fake {
	f := &fake{Probe: New(), overhead: overhead, each: each}
	f.now = func() time.Time { return f.clock }
	f.steps = func(_ *nn.Model, n, steps int, _ nn.Optimizer) func() {
		f.batches = append(f.batches, n)
		return func() {
			f.taken += steps
			f.clock = f.clock.Add(f.overhead + time.Duration(n*steps)*f.each)
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
	rate, err := f.throughput(t.Context(), subjectOf(m, 8, 1, nn.Optimizer{}), Fine)
	if want := 8 / 0.003; err != nil || !near(rate, want) {
		t.Errorf("%v examples a second, %v; a step of 8 takes 3 ms: want %v", rate, err, want)
	}
	if spent := f.clock.Sub(time.Time{}); spent < Fine || spent > Fine+10*time.Millisecond {
		t.Errorf("it took %v", spent)
	}
	before := f.taken
	for _, opt := range []nn.Optimizer{{}, {SGD: nn.SGD{LR: 0.3}}} {
		if again, err := f.throughput(t.Context(), subjectOf(m, 8, 1, opt), Fine); err != nil || again != rate {
			t.Errorf("again: %v, %v", again, err)
		}
	}
	if f.taken != before {
		t.Errorf("a known throughput was measured by %d more steps", f.taken-before)
	}
	for _, opt := range []nn.Optimizer{
		{SGD: nn.SGD{Momentum: 0.5}}, {SGD: nn.SGD{WeightDecay: 0.1}}, {SGD: nn.SGD{Mu: 1}}, {SGD: nn.SGD{ClipNorm: 1}}, {Adam: nn.Adam{On: true}},
	} {
		if _, err := f.throughput(t.Context(), subjectOf(m, 8, 1, opt), Fine); err != nil || f.taken == before {
			t.Errorf("%+v was not measured, %v", opt, err)
		}
		before = f.taken
	}
}

func TestThroughputOfALargeModelTakesASmallBatch(t *testing.T) {
	f := newFake(0, 60*time.Millisecond)
	rate, err := f.throughput(t.Context(), subjectOf(logistic(t), 256, 1, nn.Optimizer{}), Fine)
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
	if _, err := New().throughput(ctx, subjectOf(logistic(t), 4, 1, nn.Optimizer{}), Fine); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDeferredSteps: steps that a model defers are measured as clients take them.
func TestDeferredSteps(t *testing.T) {
	m, err := models.New("leaf-femnist-cnn", models.Options{Classes: 62})
	if err != nil {
		t.Fatal(err)
	}
	momentum := nn.Optimizer{SGD: nn.SGD{Momentum: 0.9}}
	clipped, adam := momentum, momentum
	clipped.ClipNorm, adam.Adam.On = 1, true
	low := m.WithPrecision(nn.BF16)
	for _, c := range []struct {
		m            *nn.Model
		batch, steps int
		opt          nn.Optimizer
		want         int
	}{
		{m, 4, 10, momentum, 10},
		{m, 4, 10, nn.Optimizer{}, 1},
		{low, 4, 10, nn.Optimizer{}, 10},
		{low, 4, 100, momentum, mostSteps},
		{m, 4, 1, momentum, 1},
		{m, 64, 10, momentum, 1},
		{low, 4, 200, momentum, 1}, // more rows than are kept, however many are measured
		{m, 4, 0, momentum, 1},
		{low, 4, 10, clipped, 1},
		{low, 4, 10, adam, 1},
		{logistic(t), 4, 10, momentum, 1},
	} {
		if got := subjectOf(c.m, c.batch, c.steps, c.opt).steps; got != c.want {
			t.Errorf("batch %d, %d steps of %+v: %d are measured at a time, want %d", c.batch, c.steps, c.opt.SGD, got, c.want)
		}
	}
	f := newFake(8*time.Millisecond, 500*time.Microsecond)
	rate, err := f.throughput(t.Context(), subjectOf(m, 4, 8, momentum), Rough)
	if want := 8 * 4 / 0.024; err != nil || !near(rate, want) {
		t.Errorf("%v examples a second, %v; 8 steps of 4 take 24 ms: want %v", rate, err, want)
	}
}

// TestRealSteps measures a small model for as short as can be.
func TestRealSteps(t *testing.T) {
	p := New()
	for _, opt := range []nn.Optimizer{{}, {SGD: nn.SGD{Momentum: 0.9, WeightDecay: 0.1, Mu: 0.1}}, {SGD: nn.SGD{ClipNorm: 1}, Adam: nn.Adam{On: true}}} {
		rate, err := p.throughput(t.Context(), subjectOf(logistic(t), 4, 1, opt), time.Millisecond)
		if err != nil || !(rate > 1000 && rate < 1e10) {
			t.Errorf("%+v: %v examples a second, %v", opt, rate, err)
		}
	}
}
