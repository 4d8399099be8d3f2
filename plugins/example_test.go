package plugins_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/plugins"
)

func ExampleBuiltin() {
	about, err := plugins.Builtin()["sha"].Describe(context.Background())
	if err != nil {
		panic(err)
	}
	for _, o := range about.Options {
		fmt.Println(o.Name, o.Default)
	}
	// Output:
	// eta 3
	// eliminations 3
}
