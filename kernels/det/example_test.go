package det_test

import (
	"fmt"

	"github.com/fedfast/fedfast/kernels/det"
)

// The same bits on every machine.
func ExampleExp() {
	fmt.Println(det.Exp(1))
	// Output: 2.7182818284590455
}
