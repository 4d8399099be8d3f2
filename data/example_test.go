package data_test

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
)

// The embedded part of Fashion-MNIST needs no file. Examples are read in batches
// through a client's views.
func ExampleOpen() {
	cfg := data.Config{Name: "fashion-small", Clients: 20, Samples: 50, Seed: 1, Normalize: "auto"}
	fed, err := data.Open(context.Background(), cfg)
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
	fmt.Println(len(fed.Clients), "clients, images of", fed.H, "x", fed.W, "x", fed.C, "and", fed.Classes, "classes")
	// Output: 20 clients, images of 28 x 28 x 1 and 10 classes
}

// A program's own data become a dataset by a name, which a configuration
// or a study file may then give as data.name.
func ExampleRegister() {
	load := func(context.Context, data.Config) (*data.Federation, []data.Examples, error) {
		var clients []data.Examples
		for c := range 5 {
			x, labels := make([]float32, 40*2), make([]int32, 40)
			for i := range labels {
				labels[i] = int32(i % 2)
				x[2*i], x[2*i+1] = float32(labels[i]), float32(c)
			}
			clients = append(clients, data.Examples{Client: fmt.Sprint("sensor ", c), Train: data.VectorView(2, x, labels)})
		}
		return &data.Federation{H: 1, W: 1, C: 2, Classes: 2}, clients, nil
	}
	if err := data.Register(data.SetInfo{Name: "sensors", Kind: data.Vector, Classes: 2}, load); err != nil {
		fmt.Println(err)
		return
	}
	fed, err := data.Open(context.Background(), data.Config{Name: "sensors", Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := fed.Clients[0]
	fmt.Println(len(fed.Clients), "clients;", c.ID, "has", c.Train.Len(), "training,", c.Val.Len(), "validation and",
		c.Test.Len(), "test samples")
	// Output: 5 clients; sensor 0 has 32 training, 4 validation and 4 test samples
}
