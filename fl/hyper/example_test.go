package hyper_test

import (
	"fmt"

	"github.com/fedfast/fedfast/fl/hyper"
)

// Two passes over 30 samples in batches of 8.
func ExampleClient_LocalSteps() {
	c := hyper.DefaultClient()
	c.Epochs, c.Batch = 2, 8
	fmt.Println(c.LocalSteps(30), "steps")
	// Output: 8 steps
}
