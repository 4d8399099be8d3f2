package tuners_test

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// A tuner checks its options by its own description, and fills in the others.
func ExampleDescription() {
	about := tuners.Description{
		Name: "mine", Version: "1", Trials: true,
		Options: []tuners.Option{{Name: "trials", Default: tuners.Num(4), Doc: "number of trials"}},
	}
	fmt.Println(about.WithDefaults(nil).Int("trials", 0), "trials")
	for _, p := range about.CheckOptions(tuners.Params{"trails": tuners.Num(8)}) {
		fmt.Println(p.Key)
	}
	// Output:
	// 4 trials
	// options.trails
}
