package bench

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/kernels"
)

// Config says what [Run] measures. The zero value measures every suite.
type Config struct {
	Suites []string       // names as [Suites] lists them; empty means all
	Quick  bool           // fewer rows and shorter samples: a smoke test of a few seconds
	Full   bool           // every row count of every product
	Rows   *regexp.Regexp // only rows whose "name shape" matches; nil means all
	Models []string       // names of the models of suites nn and nn-forward; empty means all
	Batch  int            // batch size of those suites; 0 means the sizes that belong to each model
}

// suite is a named list of rows.
type suite struct {
	name string
	doc  string
	rows func(cfg Config) ([]row, error)
}

// row is one thing to measure. Setting it up allocates its memory; the returned function is one repetition.
type row struct {
	name    string
	shape   string
	batch   int
	samples int   // samples, rows or elements that one repetition handles
	flops   int64 // floating-point operations of one repetition, 0 if not counted
	setup   func() func()
}

func suites() []suite {
	return []suite{
		{"kernels", "matrix products at the shapes of the models, LSTM cell, activations, optimizer step", kernelRows},
		{"nn", "training steps of the models: gradient and SGD with momentum", trainRows},
		{"nn-forward", "evaluation of the models", forwardRows},
	}
}

// Suites returns the names of all suites with a line about each.
func Suites() [][2]string {
	var names [][2]string
	for _, s := range suites() {
		names = append(names, [2]string{s.name, s.doc})
	}
	return names
}

// Run measures the suites of cfg one row after the other on the calling goroutine, at the level in use, and calls progress (if not
// nil) with a line about each row when it starts. It returns what was measured so far together with ctx's error if ctx ends.
func Run(ctx context.Context, cfg Config, progress func(string)) (*Report, error) {
	if cfg.Batch < 0 {
		return nil, fmt.Errorf("bench: batch is %d: want at least 1", cfg.Batch)
	}
	chosen, err := choose(cfg.Suites)
	if err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(string) {}
	}
	report := &Report{Machine: machine(), Results: []Result{}}
	m := newMeter(cfg)
	defer m.close()
	for _, s := range chosen {
		rows, err := s.rows(cfg)
		if err != nil {
			return nil, fmt.Errorf("bench: suite %s: %w", s.name, err)
		}
		if cfg.Rows != nil {
			rows = slices.DeleteFunc(rows, func(r row) bool { return !cfg.Rows.MatchString(r.name + " " + r.shape) })
		}
		for i, r := range rows {
			if err := ctx.Err(); err != nil {
				report.PeakGFLOPS = m.peak()
				return report, err
			}
			progress(fmt.Sprintf("%s %d/%d: %s %s", s.name, i+1, len(rows), r.name, r.shape))
			report.Results = append(report.Results, m.measure(s.name, r))
		}
	}
	report.PeakGFLOPS = m.peak()
	return report, nil
}

func choose(names []string) ([]suite, error) {
	all := suites()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []suite
	for _, name := range names {
		i := slices.IndexFunc(all, func(s suite) bool { return s.name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("bench: unknown suite %q: want one of %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// meter times rows and the processor's peak.
type meter struct {
	clock   clock
	sample  time.Duration // length of one sample
	samples int           // samples of a row
	peaks   []float64     // GFLOP/s
}

func newMeter(cfg Config) *meter {
	m := &meter{clock: newClock(), sample: 4 * time.Millisecond, samples: 15}
	if cfg.Quick {
		m.sample, m.samples = time.Millisecond, 3
	}
	return m
}

func (m *meter) close() { m.clock.close() }

// measure runs r until it has enough samples. Before every sample of the row it takes one, four times shorter, of the peak.
func (m *meter) measure(suite string, r row) Result {
	f := r.setup()
	f() // touch the memory
	reps := m.calibrate(f)
	var seconds, peaks []float64
	start := m.clock.now()
	for i := range m.samples {
		if i >= minSamples && m.clock.now()-start > maxTime {
			break
		}
		peaks = append(peaks, m.samplePeak())
		seconds = append(seconds, m.time(reps, f)/float64(reps))
	}
	m.peaks = append(m.peaks, peaks...)
	s := median(seconds)
	slices.Sort(seconds)
	result := Result{
		Suite: suite, Name: r.name, Level: kernels.Current().String(), Threads: 1, Batch: r.batch, Shape: r.shape,
		SamplesPerSecond: float64(r.samples) / s,
		Spread:           (seconds[len(seconds)*9/10] - seconds[len(seconds)/10]) / s,
	}
	if r.flops > 0 {
		result.GFLOPS = float64(r.flops) / s / 1e9
		result.PeakFraction = result.GFLOPS / median(peaks)
	}
	return result
}

// A row that has taken maxTime needs no more than minSamples samples.
const (
	maxTime    = 2 * time.Second
	minSamples = 3
)

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

// peak returns the median of all samples of the peak; with no row measured it takes some.
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
