package repro_test

import (
	"fmt"

	"github.com/fedfast/fedfast/bench/repro"
)

// A table of the recorded metrics of one experiment, as `fedfast repro merge` prints it.
func Example() {
	cells, err := repro.Select("fedtune-table1/fmnist")
	if err != nil {
		panic(err)
	}
	found, err := repro.Find("../results/repro/fedtune-fmnist.jsonl")
	if err != nil {
		panic(err)
	}
	report, err := repro.NewReport(cells, found)
	if err != nil {
		panic(err)
	}
	row := report.Rows[0]
	fmt.Printf("%s: %d seeds, %.2f %s\n", row.Name, row.Seeds, row.Sample.Mean, row.Unit)
	// Output: fedtune-table1/fmnist/global: 3 seeds, 73.34 % best test accuracy
}
