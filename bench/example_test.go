package bench_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/bench"
)

// The suite of training steps, narrowed to one network; fedfast bench prints the whole table
// of a report.
func ExampleRun() {
	report, err := bench.Run(context.Background(), bench.Config{
		Suites: []string{"nn"}, Quick: true, Models: []string{"logistic"}, Batch: 20,
	}, nil)
	if err != nil {
		panic(err)
	}
	for _, r := range report.Results {
		fmt.Println(r.Suite, r.Name, r.Shape, r.GFLOPS > 0)
	}
	// Output: nn logistic 28x28x1 true
}
