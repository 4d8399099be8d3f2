package synthetic_test

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/sets/synthetic"
)

// Synthetic(1, 1) with a hundred examples a client on average.
func ExampleNew() {
	clients, err := synthetic.New(synthetic.Config{Seed: 1, Clients: 5, Samples: 100, Least: 10, Alpha: 1, Beta: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range clients.Sizes {
		c := clients.Client(i)
		fmt.Println("client", i, "has", len(c.Labels), "samples of", len(c.X)/len(c.Labels), "numbers")
	}
	// Output:
	// client 0 has 15 samples of 60 numbers
	// client 1 has 337 samples of 60 numbers
	// client 2 has 10 samples of 60 numbers
	// client 3 has 10 samples of 60 numbers
	// client 4 has 128 samples of 60 numbers
}
