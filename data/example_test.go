package data_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
)

// A federation of synthetic writers needs no file. Examples are read in batches
// through a client's views.
func ExampleOpen() {
	fed, err := data.Open(context.Background(), data.Config{Name: "glyphs", Clients: 20, Samples: 50, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	train := fed.Clients[0].Train
	batch := []int32{0, 1, 2, 3}
	x := make([]float32, len(batch)*fed.H*fed.W*fed.C)
	labels := make([]int32, len(batch))
	if err := train.Fill(batch, x, nil, labels, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(fed.Clients), "writers, images of", fed.H, "x", fed.W, "x", fed.C, "and", fed.Classes, "classes")
	// Output: 20 writers, images of 28 x 28 x 1 and 62 classes
}
