package bench

import (
	"context"
	"slices"
	"time"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// meter times rows and the processor's peak.
type meter struct {
	clock      clock
	torch      []*Torch
	compile    bool
	precisions []nn.Precision
	passes     int // of the suite fl
	quick      bool
	sample     time.Duration // length of one sample
	samples    int           // samples of a row
	peaks      []float64     // GFLOP/s, of fp32
	bands      []Bandwidth   // of the memory, see bandwidths
}

func newMeter(cfg Config) *meter {
	m := &meter{
		clock: newClock(), torch: cfg.Torch, compile: cfg.Compile, precisions: cfg.precisions(), passes: roundPasses,
		quick: cfg.Quick, sample: 4 * time.Millisecond, samples: 15,
	}
	if cfg.Quick {
		m.sample, m.samples, m.passes = time.Millisecond, 3, 1
	}
	if cfg.Passes > 0 {
		m.passes = cfg.Passes
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

// measure runs r until it has enough samples, in every precision that it has, in
// turns. Before every sample of the row it takes one, four times shorter, of the peak.
func (m *meter) measure(ctx context.Context, r row) ([]Result, error) {
	if r.run != nil {
		return r.run(ctx, m)
	}
	var ours []*timing
	in := r.in(m.precisions)
	for _, p := range m.precisions {
		if r, ok := in[p]; ok {
			ours = append(ours, m.start(r, p))
		}
	}
	if r.torch == nil || len(m.torch) == 0 {
		start := m.clock.now()
		for i := range m.samples {
			if i >= minSamples && m.clock.now()-start > time.Duration(len(ours))*maxTime {
				break
			}
			for _, t := range ours {
				t.take()
			}
		}
		return resultsOf(ours, nil, r.samples), nil
	}
	rivals, err := m.enter(ctx, r.torch, 1)
	if err != nil {
		return nil, err
	}
	passes, length := versusPasses, versusTime
	if m.quick {
		passes, length = 1, m.sample
	}
	for range passes {
		for _, t := range ours {
			start := m.clock.now()
			for i := 0; i < versusLeast || m.clock.now()-start < length; i++ {
				t.take()
			}
		}
		for _, v := range rivals {
			if err := v.take(ctx, length, versusLeast); err != nil {
				return nil, err
			}
		}
	}
	return resultsOf(ours, rivals, r.samples), nil
}

// resultsOf returns the results of a row. samples is the number of samples that a
// repetition handles.
func resultsOf(ours []*timing, rivals []*rival, samples int) []Result {
	var results []Result
	for _, t := range ours {
		x := t.result()
		for _, v := range rivals {
			x.compare(v.against(samples))
		}
		results = append(results, x)
	}
	gains(results)
	return results
}

// gains fills in how much faster results in bf16 are than those in fp32 of as many
// threads among them.
func gains(results []Result) {
	for i := range results {
		x := &results[i]
		for _, y := range results {
			if x.Precision != nn.FP32.String() && y.Precision == nn.FP32.String() && x.alike(&y) {
				x.Gain = x.SamplesPerSecond / y.SamplesPerSecond
			}
		}
	}
}

// start sets up a row, which is in that precision, and finds how often it is repeated
// in a sample.
func (m *meter) start(r row, precision nn.Precision) *timing {
	t := &timing{meter: m, row: r, precision: precision}
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
	precision nn.Precision
	f, bound  func()
	reps      int
	boundReps int

	seconds, peaks, bounds []float64
}

// take takes one sample of the peak, of the bound and of the row.
func (t *timing) take() {
	m := t.meter
	t.peaks = append(t.peaks, m.samplePeak(t.precision))
	if t.bound != nil {
		t.bounds = append(t.bounds, m.time(t.boundReps, t.bound)/float64(t.boundReps))
	}
	t.seconds = append(t.seconds, m.time(t.reps, t.f)/float64(t.reps*max(1, t.row.parts)))
}

// result folds the samples.
func (t *timing) result() Result {
	if t.precision == nn.FP32 {
		t.meter.peaks = append(t.meter.peaks, t.peaks...)
	}
	r, peak := t.row, median(t.peaks)
	x := newResult(r, t.precision, t.seconds)
	if r.flops > 0 {
		x.GFLOPS = float64(r.flops) / x.Seconds / 1e9
		x.PeakGFLOPS, x.PeakFraction = peak, x.GFLOPS/peak
	}
	if r.model != nil {
		x.Loss = lossOf(r.model, r.batch, r.optimizer)
		limit, memory := roofline{peak * 1e9, t.meter.bandwidths()}.network(r.model.NewWorkspace().Work(), r.batch, t.precision, r.optimizer)
		x.Bound, x.RooflineFraction = "peak", limit/x.Seconds
		if memory {
			x.Bound = "memory"
		}
	}
	if t.bound != nil {
		read, compute := median(t.bounds), float64(r.flops)/peak/1e9
		x.Bound = "peak"
		if read > compute {
			x.Bound = "memory"
		}
		x.RooflineFraction = max(read, compute) / x.Seconds
	}
	return x
}

// newResult returns the result of a row in a precision from its seconds per repetition.
func newResult(r row, precision nn.Precision, seconds []float64) Result {
	s := median(seconds)
	return Result{
		Name: r.name, Level: kernels.Current().String(), Threads: 1, Batch: r.batch, Shape: r.shape, Optimizer: r.optimizer,
		Precision: precision.String(), Seconds: s, SamplesPerSecond: float64(r.samples) / s, Spread: spread(seconds),
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

// samplePeak returns one sample of the peak in GFLOP/s, of products in that
// precision.
func (m *meter) samplePeak(p nn.Precision) float64 {
	probe := map[nn.Precision]func(int) int64{
		nn.FP32: kernels.PeakProbe, nn.BF16: kernels.PeakBF16, nn.BF16AMX: kernels.PeakBlocks,
	}[p]
	for rounds := 1 << 10; ; rounds *= 2 {
		start := m.clock.now()
		flops := probe(rounds)
		if t := m.clock.now() - start; t >= m.sample/8 {
			return float64(flops) / t.Seconds() / 1e9
		}
	}
}

// peak returns the median of all samples of the peak; with no row measured it takes
// some.
func (m *meter) peak() float64 {
	for len(m.peaks) < m.samples {
		m.peaks = append(m.peaks, m.samplePeak(nn.FP32))
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
