package bench

import (
	"fmt"
	"io"
	"strings"

	"github.com/fedfast/fedfast/nn"
)

// WriteGobench writes the report in the format of Go's benchmarks, one line a
// sample, which benchstat reads:
//
//	BenchmarkNN/model=reddi-emnist-cnn/shape=28x28x1/batch=20/optimizer=momentum/level=avx512/threads=1 1 14000000 ns/op 1428 samples/s
//
// The first key is model for suites of networks and row for the others.
func (r *Report) WriteGobench(w io.Writer) error {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: github.com/fedfast/fedfast/bench\ncpu: %s\n", m.OS, m.Arch, m.CPU)
	for _, x := range r.Results {
		name := x.gobenchName()
		for _, s := range x.times {
			fmt.Fprintf(&b, "%s 1 %.6g ns/op", name, 1e9*s)
			if x.SamplesPerSecond > 0 {
				fmt.Fprintf(&b, " %.6g samples/s", x.SamplesPerSecond*x.Seconds/s)
			}
			if x.GFLOPS > 0 {
				fmt.Fprintf(&b, " %.6g GFLOP/s", x.GFLOPS*x.Seconds/s)
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// gobenchName builds a benchmark's name of the keys that tell rows apart.
func (x *Result) gobenchName() string {
	suite, key := strings.ToUpper(x.Suite[:1])+x.Suite[1:], "row"
	switch x.Suite {
	case "nn":
		suite, key = "NN", "model"
	case "nn-forward":
		suite, key = "NNForward", "model"
	case "fl":
		suite, key = "FL", "model"
	}
	name := fmt.Sprintf("Benchmark%s/%s=%s/shape=%s", suite, key, x.Name, x.Shape)
	if x.Batch > 0 {
		name += fmt.Sprintf("/batch=%d", x.Batch)
	}
	if x.Optimizer != "" {
		name += "/optimizer=" + x.Optimizer
	}
	if x.Precision == nn.BF16.String() {
		name += "/precision=" + x.Precision
	}
	return fmt.Sprintf("%s/level=%s/threads=%d", name, x.Level, x.Threads)
}
