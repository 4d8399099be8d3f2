package bench

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
)

// Config says what [Run] measures. The zero value measures every suite.
type Config struct {
	Suites []string       // names as [Suites] lists them; empty means all but the long one
	Quick  bool           // fewer rows and shorter samples: a smoke test of a few seconds
	Full   bool           // every row count of every product
	Rows   *regexp.Regexp // only rows whose "name shape" matches; nil means all
	// Models of suites nn, nn-forward and fl: names, or study files that compose a
	// network; empty means those of the suite.
	Models []string
	// Input and Classes replace the shape of a sample and the number of classes of
	// all Models. A study file needs Input unless its data can be opened. Zero
	// keeps a model's own.
	Input   nn.Shape
	Classes int
	Batch   int // batch size of those suites; 0 means the sizes that belong to each model
	Workers int // of suites fl and scale, compared with one worker; 0 means one per processor
	// Torch are PyTorches that rows of models are compared with, in every precision;
	// Compile adds networks by torch.compile to those that have it.
	Torch   []*Torch
	Compile bool
	// Precisions of products in the suites kernels, nn, nn-forward and fl:
	// what can be measured in several is, in turns; empty means FP32. Passes is the
	// number of passes of the suite fl; 0 means the usual number.
	Precisions []nn.Precision
	Passes     int
	// Each, unless nil, gets the report after every row, so that it can be kept should the
	// run not end. An error ends the run.
	Each func(*Report) error
}

// workers returns how many client tasks run at once.
func (c *Config) workers() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// precisions returns those to measure.
func (c *Config) precisions() []nn.Precision {
	if len(c.Precisions) > 0 {
		return c.Precisions
	}
	return []nn.Precision{nn.FP32}
}

// suite is a named list of rows.
type suite struct {
	name string
	doc  string
	rows func(ctx context.Context, cfg Config) ([]row, error)
	long bool // it runs only when it is named
}

// row is one thing to measure. Setting it up allocates its memory; the returned
// function is one repetition.
type row struct {
	name    string
	shape   string
	batch   int
	samples int   // samples, rows or elements that one repetition handles
	flops   int64 // floating-point operations of one repetition, 0 if not counted
	setup   func() func()
	parts   int       // what setup returns does that many repetitions; 0 is one
	model   *nn.Model // of a training step or an evaluation, nil otherwise

	// over, instead of setup, returns a repetition that reads the given floats; reads
	// is their number. The row then has a bound: the time of reading them or the time
	// of the operations at peak speed, whichever is longer.
	over  func(x []float32) func()
	reads int

	optimizer string                              // of a training step: "sgd" or "momentum"
	lower     func(low *row, p nn.Precision) bool // makes of a copy the row in a lower precision
	torch     *torchJob                           // the same in PyTorch; nil where there is nothing to compare with
	// run, in place of setup, measures by itself and may give several results. It
	// fills in what the row does not say.
	run func(ctx context.Context, m *meter) ([]Result, error)
}

func suites() []suite {
	return []suite{
		{"kernels", "matrix products at the models' shapes, LSTM cell, activations, optimizer step", kernelRows, false},
		{"nn", "training steps of the models: gradient and SGD update", trainRows, false},
		{"nn-forward", "evaluation of the models", forwardRows, false},
		{"layers", "training steps of single layers, such as attention, depthwise convolutions and norms; only when named", layerRows, true},
		{"fl", "rounds of federated averaging, with one worker and with all", roundRows, false},
		{"scale", "scaling with clients per round, total clients and parallel trials; small models", scaleRows, false},
	}
}

// Suites returns the names of all suites with a line about each.
func Suites() [][2]string {
	return list.Of(suites(), func(s suite) [2]string { return [2]string{s.name, s.doc} })
}

// Run measures the suites of cfg one row after the other, at the level in use, and
// calls progress (if not nil) with a line about each row when it starts. It returns
// what was measured so far together with the error if ctx ends or a row fails, and
// no report when a row of any suite cannot be measured.
func Run(ctx context.Context, cfg Config, progress func(string)) (*Report, error) {
	if cfg.Batch < 0 {
		return nil, fmt.Errorf("bench: batch is %d: must be at least 1", cfg.Batch)
	}
	if cfg.Passes < 0 {
		return nil, fmt.Errorf("bench: passes is %d: must be at least 1", cfg.Passes)
	}
	chosen, err := choose(cfg.Suites)
	if err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(string) {}
	}
	rows, wanted := make([][]row, len(chosen)), 0
	for i, s := range chosen { // what cannot be measured is told before anything is
		if rows[i], err = s.rows(ctx, cfg); err != nil {
			return nil, fmt.Errorf("bench: suite %s: %w", s.name, err)
		}
		rows[i] = slices.DeleteFunc(rows[i], func(r row) bool {
			return cfg.Rows != nil && !cfg.Rows.MatchString(r.name+" "+r.shape) || len(r.in(cfg.precisions())) == 0
		})
		wanted += len(rows[i])
	}
	if wanted == 0 && cfg.Rows != nil {
		return nil, fmt.Errorf("bench: no row of %s matches %s", namesOf(chosen), cfg.Rows)
	}
	report := newReport(cfg)
	m := newMeter(cfg)
	defer m.close()
	defer func() { report.PeakGFLOPS = m.peak() }()
	for at, s := range chosen {
		for i, r := range rows[at] {
			if err := ctx.Err(); err != nil {
				return report, err
			}
			progress(fmt.Sprintf("%s %d/%d: %s", s.name, i+1, len(rows[at]), r))
			results, err := m.measure(ctx, r)
			if err != nil && ctx.Err() != nil {
				return report, ctx.Err() // what a killed process said of it is of no interest
			}
			if err != nil {
				return report, fmt.Errorf("bench: %s: %s: %w", s.name, r, err)
			}
			for _, x := range results {
				x.Suite = s.name
				report.Results = append(report.Results, x)
			}
			if cfg.Each != nil {
				report.PeakGFLOPS = m.peak()
				if err := cfg.Each(report); err != nil {
					return report, err
				}
			}
		}
	}
	return report, nil
}

// in returns the row in each of the precisions that it can be measured in, and the
// precisions. A row that measures by itself is returned as it is.
func (r row) in(precisions []nn.Precision) map[nn.Precision]row {
	rows := map[nn.Precision]row{}
	for _, p := range precisions {
		switch {
		case p == nn.FP32 || r.run != nil:
			rows[p] = r
		case r.lower != nil:
			if low := r; r.lower(&low, p) {
				rows[p] = low
			}
		}
	}
	return rows
}

// String names the row in messages.
func (r row) String() string {
	s := r.name + " " + r.shape
	if r.optimizer != "" {
		s += fmt.Sprintf(" batch %d %s", r.batch, r.optimizer)
	}
	return s
}

// namesOf lists the names of suites.
func namesOf(suites []suite) string {
	names := list.Of(suites, func(s suite) string { return s.name })
	return strings.Join(names, ", ")
}

func choose(names []string) ([]suite, error) {
	all := suites()
	if len(names) == 0 {
		return slices.DeleteFunc(all, func(s suite) bool { return s.long }), nil
	}
	var chosen []suite
	for _, name := range names {
		i := slices.IndexFunc(all, func(s suite) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("bench: unknown suite %q: must be one of %s", name, namesOf(all))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
