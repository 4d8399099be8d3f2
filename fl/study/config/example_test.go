package config_test

import (
	"fmt"

	"github.com/fedfast/fedfast/fl/study/config"
)

// A preset with two keys changed.
func ExampleLoad() {
	c, err := config.Load(config.Source{Preset: "quickstart", Sets: []string{"cohort=4", "client.lr=0.05"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Method, c.Cohort, c.Client.LR)
	// Output: fedavg 4 0.05
}
