package tensor_test

import (
	"fmt"

	"github.com/fedfast/fedfast/tensor"
)

// Memory that starts at the boundary that SIMD loops read from, zero at first.
func ExampleAligned() {
	x := tensor.Aligned(5)
	fmt.Println(len(x), x[4])
	// Output: 5 0
}
