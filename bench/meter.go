package bench

import (
	"context"
	"slices"
	"time"

	"github.com/fedfast/fedfast/kernels"
)

// meter times rows and the processor's peak.
type meter struct {
	clock   clock
	torch   *Torch
	quick   bool
	sample  time.Duration // length of one sample
	samples int           // samples of a row
	peaks   []float64     // GFLOP/s
}

func newMeter(cfg Config) *meter {
	m := &meter{clock: newClock(), torch: cfg.Torch, quick: cfg.Quick, sample: 4 * time.Millisecond, samples: 15}
	if cfg.Quick {
		m.sample, m.samples = time.Millisecond, 3
	}
	return m
}

func (m *meter) close() { m.clock.close() }

// A row that has taken maxTime needs no more than minSamples samples. Beside
// PyTorch, ours and theirs take turns: each has versusPasses turns of at least
// versusTime and versusLeast samples.
const (
	maxTime    = 2 * time.Second
	minSamples = 3

	versusPasses = 4
	versusTime   = 250 * time.Millisecond
	versusLeast  = 2
)

// measure runs r until it has enough samples. Before every sample of the row it
// takes one, four times shorter, of the peak.
func (m *meter) measure(ctx context.Context, r row) ([]Result, error) {
	if r.run != nil {
		return r.run(ctx, m)
	}
	t := m.start(r)
	if r.torch == nil || m.torch == nil {
		start := m.clock.now()
		for i := range m.samples {
			if i >= minSamples && m.clock.now()-start > maxTime {
				break
			}
			t.take()
		}
		return []Result{t.result()}, nil
	}
	rival, err := m.torch.prepare(ctx, r.torch, 1)
	if err != nil {
		return nil, err
	}
	passes, length := versusPasses, versusTime
	if m.quick {
		passes, length = 1, m.sample
	}
	for range passes {
		start := m.clock.now()
		for i := 0; i < versusLeast || m.clock.now()-start < length; i++ {
			t.take()
		}
		if err := rival.take(ctx, length, versusLeast); err != nil {
			return nil, err
		}
	}
	result := t.result()
	result.compare(rival.against(r.samples))
	return []Result{result}, nil
}

// start sets up a row and finds how often it is repeated in a sample.
func (m *meter) start(r row) *timing {
	t := &timing{meter: m, row: r}
	if r.over != nil {
		x := ramp(r.reads)
		t.f, t.bound = r.over(x), func() { kernels.ReadProbe(x) }
		t.boundReps = m.calibrate(t.bound)
	} else {
		t.f = r.setup()
	}
	t.f() // touch the memory
	t.reps = m.calibrate(t.f)
	return t
}

// timing collects the samples of one row.
type timing struct {
	meter     *meter
	row       row
	f, bound  func()
	reps      int
	boundReps int

	seconds, peaks, bounds []float64
}

// take takes one sample of the peak, of the bound and of the row.
func (t *timing) take() {
	m := t.meter
	t.peaks = append(t.peaks, m.samplePeak())
	if t.bound != nil {
		t.bounds = append(t.bounds, m.time(t.boundReps, t.bound)/float64(t.boundReps))
	}
	t.seconds = append(t.seconds, m.time(t.reps, t.f)/float64(t.reps))
}

// result folds the samples.
func (t *timing) result() Result {
	t.meter.peaks = append(t.meter.peaks, t.peaks...)
	r, peak := t.row, median(t.peaks)
	x := newResult(r, t.seconds)
	if r.flops > 0 {
		x.GFLOPS = float64(r.flops) / x.Seconds / 1e9
		x.PeakGFLOPS, x.PeakFraction = peak, x.GFLOPS/peak
	}
	if t.bound != nil {
		read, compute := median(t.bounds), float64(r.flops)/peak/1e9
		x.Bound = "peak"
		if read > compute {
			x.Bound = "memory"
		}
		x.BoundFraction = max(read, compute) / x.Seconds
	}
	return x
}

// newResult is a row that took so many seconds a repetition.
func newResult(r row, seconds []float64) Result {
	s := median(seconds)
	return Result{
		Name: r.name, Level: kernels.Current().String(), Threads: 1, Batch: r.batch, Shape: r.shape, Optimizer: r.optimizer,
		Seconds: s, SamplesPerSecond: float64(r.samples) / s, Spread: spread(seconds), times: seconds,
	}
}

// calibrate returns how many repetitions of f fill a sample.
func (m *meter) calibrate(f func()) int {
	for reps := 1; ; reps *= 2 {
		if t := m.time(reps, f); t >= m.sample.Seconds()/2 {
			return max(1, int(float64(reps)*m.sample.Seconds()/t))
		}
	}
}

// time returns how many seconds reps repetitions of f take.
func (m *meter) time(reps int, f func()) float64 {
	start := m.clock.now()
	for range reps {
		f()
	}
	return (m.clock.now() - start).Seconds()
}

// samplePeak returns one sample of the peak in GFLOP/s.
func (m *meter) samplePeak() float64 {
	for rounds := 1 << 10; ; rounds *= 2 {
		start := m.clock.now()
		flops := kernels.PeakProbe(rounds)
		if t := m.clock.now() - start; t >= m.sample/8 {
			return float64(flops) / t.Seconds() / 1e9
		}
	}
}

// peak returns the median of all samples of the peak; with no row measured it takes
// some.
func (m *meter) peak() float64 {
	for len(m.peaks) < m.samples {
		m.peaks = append(m.peaks, m.samplePeak())
	}
	return median(m.peaks)
}

// median returns the median of x, which must not be empty.
func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// quantile returns the least of x that a share q of x does not exceed. x must not
// be empty.
func quantile(x []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// spread returns the 10th to 90th percentile of x over its median.
func spread(x []float64) float64 { return (quantile(x, 0.9) - quantile(x, 0.1)) / median(x) }
