package deal_test

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/deal"
)

// Ten of twelve samples of three classes go to three clients of a power law's
// sizes, each with two classes.
func ExampleClasses() {
	labels := []int32{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}
	sizes := deal.PowerLaw(3, 10, 2, 1, 7)
	dealt, short := deal.Classes(labels, 3, []int{2, 2, 2}, sizes, 7)
	for i, samples := range dealt {
		counts := make([]int, 3)
		for _, s := range samples {
			counts[labels[s]]++
		}
		fmt.Println("client", i, "has", len(samples), "samples, by class", counts)
	}
	fmt.Println(short, "are missing")
	// Output:
	// client 0 has 2 samples, by class [1 1 0]
	// client 1 has 3 samples, by class [0 1 2]
	// client 2 has 5 samples, by class [3 0 2]
	// 0 are missing
}
