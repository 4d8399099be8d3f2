package fleet_test

import (
	"fmt"
	"log"
	"time"

	"github.com/fedfast/fedfast/fl/fleet"
)

// How long a job of 20 GFLOP lasts that receives and sends 5 MB.
func Example() {
	f, err := fleet.New(fleet.Config{}, 1, []fleet.Client{{ID: "a", Samples: 100}})
	if err != nil {
		log.Fatal(err)
	}
	o := f.Run(fleet.Job{Client: 0, FLOPs: 20e9, Down: 5e6, Up: 5e6})
	fmt.Println(time.Duration(o.Received), time.Duration(o.Computed), time.Duration(o.End))
	// Output: 4s 6s 10s
}
