package workdir_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// ring returns examples of the plane, of which those near the origin are of class
// 1.
func ring(r *rand.Rand, n int) data.View {
	values, labels := make([]float32, 2*n), make([]int32, n)
	for i := range labels {
		x, y := 2*r.Float32()-1, 2*r.Float32()-1
		values[2*i], values[2*i+1] = x, y
		if x*x+y*y < 0.5 {
			labels[i] = 1
		}
	}
	return data.VectorView(2, values, labels)
}

// Data and a model that exist in this program only.
func ExampleRun() {
	folder, err := os.MkdirTemp("", "study")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	r := rand.New(rand.NewPCG(1, 2))
	fed := &data.Federation{
		Name: "rings", Doc: "points in and around a circle", Kind: data.Vector, H: 1, W: 1, C: 2,
		Classes: 2,
	}
	for i := range 20 {
		fed.Clients = append(fed.Clients, data.Client{
			ID: fmt.Sprint("client ", i), Train: ring(r, 50), Val: ring(r, 10),
			Test: ring(r, 20),
		})
	}
	model, err := models.FromLayers([]models.LayerSpec{{Type: "dense", Units: 16}, {Type: "relu"}, {Type: "dense"}},
		nn.Shape{H: 1, W: 1, C: 2}, fed.Classes)
	if err != nil {
		panic(err)
	}
	c := config.Default()
	c.Name, c.Rounds, c.Cohort = "rings", 40, 5
	c.Client.LR, c.Client.Epochs, c.Client.Batch = 0.2, 2, 10
	result, err := workdir.Run(context.Background(), filepath.Join(folder, "rings"), &c,
		workdir.Options{Data: fed, Model: model})
	if err != nil {
		panic(err)
	}
	fmt.Println("better than saying 0 always:", *result.GlobalTest < 0.2)
	// Output:
	// better than saying 0 always: true
}
