package conformance_test

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners/conformance"
)

// Checks are run by their names; a wrong one is an error.
func ExampleCheckNames() {
	fmt.Println(conformance.CheckNames(conformance.Names()))
	// Output: <nil>
}
