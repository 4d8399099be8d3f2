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

// stepOf is a step of a model.
func stepOf(m *nn.Model, batch int) Step { return Step{Model: m, Batch: batch} }

func TestRates(t *testing.T) {
	m := logistic(t)
	f := newFake(time.Millisecond, 250*time.Microsecond)
	w := Work{Step: stepOf(m, 8), Examples: 1e9}
	rate, err := f.rate(t.Context(), w)
	if want := 8 / 0.003; err != nil || !near(rate, want) {
		t.Errorf("%v examples a second, %v; a step of 8 takes 3 ms: want %v", rate, err, want)
	}
	if spent := f.clock.Sub(time.Time{}); spent < Least || spent > Least+10*time.Millisecond {
		t.Errorf("it took %v", spent)
	}
	before := f.taken
	if again, err := f.rate(t.Context(), w); err != nil || again != rate || f.taken != before {
		t.Errorf("again by %d more steps: %v, %v", f.taken-before, again, err)
	}
}

func TestALargeModelTakesASmallBatch(t *testing.T) {
	m, err := models.New("resnet18-gn", models.Options{Classes: 10, Input: nn.Shape{H: 32, W: 32, C: 3}})
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(0, 200*time.Millisecond)
	rate, err := f.rate(t.Context(), Work{Step: stepOf(m, 256), Examples: 1e6})
	if err != nil || !near(rate, 5) || f.batches[0] > 2 || f.taken != 3 {
		t.Errorf("%v examples a second in batches of %v by %d steps, %v; want two steps after one that touches the memory",
			rate, f.batches, f.taken, err)
	}
}

func TestRatesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().rate(ctx, Work{Step: stepOf(logistic(t), 4), Examples: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDeferredSteps: steps that a model defers are timed as clients take them.
func TestDeferredSteps(t *testing.T) {
	m, err := models.New("leaf-femnist-cnn", models.Options{Classes: 62})
	if err != nil {
		t.Fatal(err)
	}
	momentum := nn.SGD{Momentum: 0.9}
	low := m.WithPrecision(nn.BF16)
	for _, c := range []struct {
		Step
		want int
	}{
		{Step{m, 4, 10, momentum, false}, 10},
		{Step{m, 4, 10, nn.SGD{}, false}, 1},
		{Step{low, 4, 10, nn.SGD{}, false}, 10},
		{Step{low, 4, 100, momentum, false}, mostSteps},
		{Step{m, 4, 1, momentum, false}, 1},
		{Step{m, 64, 10, momentum, false}, 1},
		{Step{low, 4, 200, momentum, false}, 1}, // more rows than are kept, however many are timed
		{Step{m, 4, 0, momentum, false}, 1},
		{Step{low, 4, 10, nn.SGD{Momentum: 0.9, ClipNorm: 1}, false}, 1},
		{Step{low, 4, 10, momentum, true}, 1},
		{Step{logistic(t), 4, 10, momentum, false}, 1},
	} {
		f := newFake(time.Second, 0)
		if _, err := f.rate(t.Context(), Work{Step: c.Step, Examples: 1}); err != nil || f.taken != 3*c.want {
			t.Errorf("batch %d, %d steps of %+v: %d are timed three times, want %d, %v", c.Batch, c.Steps, c.SGD, f.taken/3,
				c.want, err)
		}
	}
}

// TestRealSteps measures a small model for as short as can be.
func TestRealSteps(t *testing.T) {
	p := New()
	for _, s := range []Step{
		{},
		{SGD: nn.SGD{Momentum: 0.9, WeightDecay: 0.1, Mu: 0.1}},
		{SGD: nn.SGD{ClipNorm: 1}, Adam: true},
	} {
		s.Model, s.Batch = logistic(t), 4
		if rate, err := p.rate(t.Context(), Work{Step: s, Examples: 1}); err != nil || !(rate > 1000 && rate < 1e10) {
			t.Errorf("%+v: %v examples a second, %v", s, rate, err)
		}
	}
}
