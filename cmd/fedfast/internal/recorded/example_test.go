package recorded_test

import (
	"fmt"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/recorded"
)

// A recorded table and the lowest error in it.
func ExampleOpen() {
	t, err := recorded.Open("../../../../bench/results/tables/fmnist.parquet")
	if err != nil {
		panic(err)
	}
	_, lowest := t.Best()
	fmt.Printf("%d configurations, best %.1f %%\n", len(t.Trained), 100*lowest)
	// Output: 64 configurations, best 31.9 %
}
