package host_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners/host"
)

// A tuner of this program whose answers are checked as those of a process are.
func ExampleLocal() {
	t := host.Local(plugins.Builtin()["random"])
	about, err := t.Describe(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(about.Name, about.Trials)
	// Output: random true
}
